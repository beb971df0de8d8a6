/** A real Chromium that comes through npm, and windows in it that tell what went wrong in them. */
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
import { keptFolder } from "../support/folders.ts";
import packageJson from "../../package.json" with { type: "json" };

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // Fewer processes and threads: the pages are of one origin, and nothing is drawn on a screen.
  "--disable-site-isolation-trials", "--in-process-gpu", "--num-raster-threads=1",
]; // prettier-ignore

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/countersign");

/** The path of the browser, which is inflated once for all test processes. */
async function executable(): Promise<string> {
  const place = join(CACHE, `chromium-${packageJson.devDependencies["@sparticuz/chromium"]}`);
  const folder = await keptFolder(place, async (filled) => {
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = filled;
    try {
      await inflater.executablePath();
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  });
  return join(folder, "chromium");
}

let running: Promise<Browser | undefined> | undefined;

/** Starts the browser of this test process. Where it cannot run: fails in CI, elsewhere says why and resolves with nothing. */
export async function startBrowser(): Promise<Browser | undefined> {
  const browser = await running;
  if (browser && !browser.isConnected()) running = undefined;
  return (running ??= launch());
}

async function launch(): Promise<Browser | undefined> {
  try {
    return await chromium.launch({ executablePath: await executable(), args: FLAGS, chromiumSandbox: false });
  } catch (error) {
    const [reason] = (error as Error).message.split("\n");
    if (process.env["CI"]) throw new Error(`Chromium does not start, so no page would be tested: ${reason}`);
    process.stderr.write(`browser tests are skipped: Chromium does not start here: ${reason}\n`);
    return undefined;
  }
}

/** Long enough for a machine that is busy with other things; nothing that works takes as long. */
const WAIT_MS = 30_000;

/**
 * Gives the tests of a file their windows. After each test they are closed, and nothing forbidden has happened in
 * them; after the last one every service ends. The browser serves the next file, and ends with its process.
 */
export function useWindows(browser: Browser | undefined) {
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  const windows: Window[] = [];
  afterEach(async () => {
    const faults = windows.flatMap((one) => one.faults);
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

/** A window of somebody, with a storage of its own. */
interface Window {
  page: Page;
  context: BrowserContext;
  /** Events that must never happen in a page: policy violations, script errors, dialogs of hostile text. */
  faults: string[];
}

/** Opens a window; `name` and `token` are what the person has typed before. */
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
    ([given, secret]) => {
      if (given) localStorage.setItem("countersign.name", given);
      if (secret) sessionStorage.setItem("countersign.token", secret);
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

/** Closes a window; requests that are still being answered for it end with it. */
async function closeWindow({ page, context }: Window): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
}

/** The pages of the console, by their place in the address. */
export const PAGES = ["", "changes", "compare", "propose", "kpis", "audit", "settings"] as const;

/** Goes to a page of the console and waits until it shows its content and listens to its keys. */
export async function visit(page: Page, url: string, place: string): Promise<void> {
  const address = new URL(`/#/${place}`, url).href;
  if (page.url().startsWith(url)) await page.evaluate((hash) => void (location.hash = hash), `/${place}`);
  else await page.goto(address);
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector('main [aria-busy="true"]:not(button)') === null);
  await settled(page);
}

/** Leaves what would be news unanswered. When a stream of events opens, what was read before is read again, whenever that is. */
export async function withoutNews(page: Page): Promise<void> {
  await page.route(/\/api\/(?:events|product\/identity)$/, () => undefined);
}

/** Waits until what follows the drawing of a page is done too: its keys are given to it after the next frame. */
export const settled = (page: Page): Promise<void> =>
  page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))),
  );

/** Opens the reasons why actions are not offered. */
export const showReasons = (page: Page): Promise<void> => page.getByText("Why not?", { exact: true }).click();

/** The button of exactly this name. */
export const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });

/** Returns the page's text about its freshness. */
export const freshness = (page: Page, said: string): Locator => page.getByRole("status").getByText(said);
