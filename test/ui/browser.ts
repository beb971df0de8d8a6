/** Chromium from npm for browser tests, with windows that report script errors and policy violations. */
import { join } from "node:path";
import inflater from "@sparticuz/chromium";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { afterAll, afterEach, expect, vi } from "vitest";
import { killAll } from "../e2e/server.ts";
import { cachedFolder } from "../support/folders.ts";
import packageJson from "../../package.json" with { type: "json" };

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // All pages have one origin and no screen, so fewer processes and threads suffice.
  "--disable-site-isolation-trials", "--in-process-gpu", "--num-raster-threads=1",
]; // prettier-ignore

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/countersign");

/** Unpacks the browser once for all test processes and returns its path. */
async function unpackBrowser(): Promise<string> {
  const cacheFolder = join(CACHE, `chromium-${packageJson.devDependencies["@sparticuz/chromium"]}`);
  const folder = await cachedFolder(cacheFolder, async (newFolder) => {
    const previousFolder = process.env["TMPDIR"];
    // The package unpacks the browser into `TMPDIR`.
    process.env["TMPDIR"] = newFolder;
    try {
      await inflater.executablePath();
    } finally {
      if (previousFolder === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = previousFolder;
    }
  });
  return join(folder, "chromium");
}

let running: Promise<Browser | undefined> | undefined;

/** Starts the browser of this test process. If it cannot start: throws in CI; elsewhere prints the reason and returns undefined. */
export async function startBrowser(): Promise<Browser | undefined> {
  const browser = await running;
  if (browser && !browser.isConnected()) running = undefined;
  return (running ??= launch());
}

async function launch(): Promise<Browser | undefined> {
  try {
    return await chromium.launch({ executablePath: await unpackBrowser(), args: FLAGS, chromiumSandbox: false });
  } catch (error) {
    const [reason] = (error as Error).message.split("\n");
    if (process.env["CI"]) throw new Error(`Chromium does not start, so no page would be tested: ${reason}`);
    process.stderr.write(`browser tests are skipped: Chromium does not start here: ${reason}\n`);
    return undefined;
  }
}

/** Timeout of a step; generous, because the machine may be busy. */
const WAIT_MS = 30_000;

/**
 * Returns a function that opens windows for the tests of a file. After each test the windows are closed, and any script
 * error or policy violation in them fails the test. After the last test all services are stopped. The browser keeps
 * running for the next file.
 */
export function useWindows(browser: Browser | undefined) {
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  const windows: Window[] = [];
  afterEach(async () => {
    const faults = windows.flatMap((window) => window.faults);
    await Promise.all(windows.splice(0).map(closeWindow));
    expect(faults, "policy violations and script errors").toEqual([]);
  });
  afterAll(killAll);
  return async (options: Parameters<typeof openWindow>[1] = {}): Promise<Page> => {
    const opened = await openWindow(browser!, options);
    windows.push(opened);
    return opened.page;
  };
}

/** A window with its own storage. */
interface Window {
  page: Page;
  context: BrowserContext;
  /** Events that must never happen in a page: policy violations, script errors, dialogs of hostile text. */
  faults: string[];
}

/** Opens a window; `name` and `token` are stored as if the person had typed them before. */
async function openWindow(
  browser: Browser,
  { name = "", token = "", ...options }: BrowserContextOptions & { name?: string; token?: string } = {},
): Promise<Window> {
  const context = await browser.newContext({
    locale: "en-GB",
    timezoneId: "UTC",
    viewport: { width: 1440, height: 900 },
    ...options,
  });
  context.setDefaultTimeout(WAIT_MS);
  const faults: string[] = [];
  await context.exposeBinding("reportFault", (_source, fault: string) => void faults.push(fault));
  await context.addInitScript(
    ([storedName, storedToken]) => {
      if (storedName) localStorage.setItem("countersign.name", storedName);
      if (storedToken) sessionStorage.setItem("countersign.token", storedToken);
      const report = (globalThis as unknown as { reportFault: (fault: string) => void }).reportFault;
      addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
        report(`policy: ${violatedDirective} ${blockedURI}`),
      );
    },
    [name, token] as const,
  );
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context, faults };
}

/** Closes a window and ends its pending requests. */
async function closeWindow({ page, context }: Window): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
}

/** Paths of the console's pages, behind `#/`. */
export const PAGES = ["", "changes", "compare", "propose", "kpis", "audit", "settings"] as const;

/** Opens a page of the console and waits until its content is shown and its keyboard shortcuts work. */
export async function visit(page: Page, url: string, path: string): Promise<void> {
  const address = new URL(`/#/${path}`, url).href;
  if (page.url().startsWith(url)) await page.evaluate((hash) => void (location.hash = hash), `/${path}`);
  else await page.goto(address);
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector('main [aria-busy="true"]:not(button)') === null);
  await waitForShortcuts(page);
}

/** Leaves the event stream and the identity probe unanswered, because either one makes the page read everything again. */
export async function blockUpdates(page: Page): Promise<void> {
  await page.route(/\/api\/(?:events|product\/identity)$/, () => undefined);
}

/** Waits until a page is drawn and its keyboard shortcuts are registered, which happens after the next frame. */
export const waitForShortcuts = (page: Page): Promise<void> =>
  page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))),
  );

/** Opens the list of reasons why actions are not offered. */
export const showReasons = (page: Page): Promise<void> => page.getByText("Why not?", { exact: true }).click();

/** Returns the button with exactly this name. */
export const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });

/** Returns the locator of a text that says how current the page is, such as "Live". */
export const freshness = (page: Page, text: string): Locator => page.getByRole("status").getByText(text);
