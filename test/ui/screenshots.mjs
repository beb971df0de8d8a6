/**
 * Takes the screenshots of the README: builds the program, plays the story of a fortnight and captures its console.
 * `node test/ui/screenshots.mjs [FOLDER] [--all]`; `--all` takes every page at both widths and in both themes.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { build } from "../../esbuild.config.mjs";
import { INTENT, playStory } from "./story.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const DAY = 86_400_000;
const HOUR = 3_600_000;
const NAME = "bo@acme.example";

const all = process.argv.includes("--all");
const target = resolve(
  process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? join(root, "docs/screenshots"),
);

/** Screenshots of the README: file, page, width, theme, and earlier steps. */
const README = [
  { file: "inbox", page: () => "", width: 1440, theme: "light" },
  { file: "change", page: (ids) => `changes/${ids.south}`, width: 1440, height: 1100, theme: "light" },
  { file: "change_dark", page: (ids) => `changes/${ids.north}`, width: 1440, height: 1100, theme: "dark" },
  { file: "apply", page: (ids) => `changes/${ids.flag}`, width: 1440, theme: "light", prepare: openApply },
  { file: "audit", page: () => "audit", width: 1440, theme: "light", prepare: checkLog },
  { file: "inbox_phone", page: () => "", width: 390, theme: "light" },
];

const PAGES = ["", "changes", "propose", "kpis", "audit", "settings", "compare"];

/** Screenshots of every page in full, at both widths and in both themes. */
const listAllScreenshots = (ids) =>
  [...PAGES, ...Object.entries(ids).map(([name, id]) => [`change_${name}`, `changes/${id}`])].flatMap((entry) => {
    const [file, page] = Array.isArray(entry) ? entry : [entry || "inbox", entry];
    return [390, 1440].flatMap((width) =>
      ["light", "dark"].map((theme) => ({
        file: `${file}_${width}_${theme}`,
        page: () => page,
        width,
        theme,
        isFullPage: true,
      })),
    );
  });

const work = await mkdtemp(join(tmpdir(), "countersign-screenshots-"));
// @sparticuz/chromium unpacks the browser and its fonts into TMPDIR.
process.env.TMPDIR = work;
/** Functions that end what was started; the last is called first. */
const cleanups = [() => rm(work, { recursive: true, force: true })];
try {
  const service = await startServiceWithHistory();
  const browser = await openBrowser();
  await mkdir(target, { recursive: true });
  for (const picture of all ? listAllScreenshots(service.ids) : README) await takeScreenshot(browser, service, picture);
} finally {
  for (const cleanUp of cleanups.reverse()) await cleanUp();
}

/** Starts a service with a clock of a fortnight ago and plays the story up to the present. */
async function startServiceWithHistory() {
  await build(join(work, "dist"));
  await symlink(join(root, "node_modules"), join(work, "node_modules"));
  await writeFile(join(work, "intent.json"), JSON.stringify(INTENT));
  const clock = new URL("shifted_clock.mjs", import.meta.url).href;
  const options = ["--port=0", "--product-intent=intent.json", "--product-config=config.json"];
  const child = spawn(process.execPath, ["--import", clock, join(work, "dist/local/ui_server.js"), ...options], {
    cwd: work,
    env: { PATH: process.env.PATH, CLOCK_OFFSET_MS: String(-13 * DAY), CLOCK_STEP_MS: String(HOUR) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  cleanups.push(async () => child.kill("SIGTERM") && (await once(child, "close")));
  const url = await new Promise((resolveUrl, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      const entry = line.startsWith("{") ? JSON.parse(line) : { message: line };
      if (entry.message === "listening") resolveUrl(entry.url);
    });
    child.once("close", () => reject(new Error("the program ended before it listened")));
  });
  const advanceClock = async (hours) => {
    const before = Date.parse((await readState(url)).as_of);
    // Each signal advances the clock by CLOCK_STEP_MS, but never past the present, so the loop must end shortly before that.
    const until = Math.min(before + hours * HOUR, Date.now() - HOUR / 60);
    for (let now = before; now < until; now = Date.parse((await readState(url)).as_of)) child.kill("SIGUSR2");
  };
  return { url, ids: await playStory({ url, advanceClock, config: join(work, "config.json") }) };
}

async function readState(url) {
  return (await fetch(new URL("api/state", url))).json();
}

/** Starts the browser from npm with its own fonts, so that screenshots look the same on every machine. */
async function openBrowser() {
  const { default: inflater } = await import("@sparticuz/chromium");
  const executablePath = await inflater.executablePath();
  const prefer = (family, name) => `<alias><family>${family}</family><prefer><family>${name}</family></prefer></alias>`;
  const fonts = join(work, "fonts.conf");
  await writeFile(
    fonts,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${work}/fonts</dir>
    <dir>/usr/share/fonts</dir><cachedir>${work}/font-cache</cachedir>${prefer("sans-serif", "Open Sans")}
    ${prefer("system-ui", "Open Sans")}${prefer("monospace", "DejaVu Sans Mono")}</fontconfig>`,
  );
  const browser = await chromium.launch({
    executablePath,
    chromiumSandbox: false,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars"],
    env: { ...process.env, FONTCONFIG_FILE: fonts },
  });
  cleanups.push(() => browser.close());
  return browser;
}

/** Opens the dialog in which a change is applied, and waits for its dry run. */
async function openApply(page) {
  await page.getByRole("button", { name: "Apply…" }).click();
  await page.locator("dialog .diff").waitFor();
}

/** Starts the checks of the log by the service and in the browser, and waits for both. */
async function checkLog(page) {
  await page.getByText("Ask the service").click();
  await page.getByText("The service finds all").waitFor();
  await page.getByRole("button", { name: "Check in this browser" }).click();
  await page.getByText("each matches its hash").waitFor();
}

async function takeScreenshot(
  browser,
  { url, ids },
  { file, page, width, height, theme, prepare, isFullPage = false },
) {
  const context = await browser.newContext({
    viewport: { width, height: height ?? (width < 500 ? 844 : 900) },
    deviceScaleFactor: width < 500 ? 2 : 1,
    colorScheme: theme,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  await context.addInitScript((name) => localStorage.setItem("countersign.name", name), NAME);
  const screen = await context.newPage();
  await screen.goto(new URL(`/#/${page(ids)}`, url).href);
  await screen.locator("h1").first().waitFor();
  await screen.waitForFunction(() => document.querySelector('main [aria-busy="true"]:not(button)') === null);
  if (prepare) await prepare(screen);
  await screen.screenshot({ path: join(target, `${file}.png`), fullPage: isFullPage });
  await context.close();
}
