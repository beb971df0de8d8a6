/** `npm run dev`: a change of the sources restarts the service or reloads the open page. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { program, temporaryFolder } from "../e2e/server.ts";
import { freePort } from "../support/free_port.ts";
import { startBrowser, useWindows, visit } from "./browser.ts";

const CHECKOUT = join(import.meta.dirname, "../..");
/** Log lines of the service, and the last line of `npm run dev`. */
const LISTENING = /"message":"listening"/;
const STOPPING = /"message":"stopping"/;
const ENDED = /The service has ended/;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const browser = await startBrowser();
const folder = temporaryFolder();
const outputLines: string[] = [];
let child: ChildProcess;
let url: string;

beforeAll(async () => {
  for (const part of ["handlers", "lib", "local", ".ci", "package.json", "tsconfig.json"])
    cpSync(join(CHECKOUT, part), join(folder, part), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(CHECKOUT, "node_modules")))
    if (name !== ".cache") symlinkSync(join(CHECKOUT, "node_modules", name), join(folder, "node_modules", name));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const args = [".ci/dev/main.mjs", "--product-intent", "local/example/product_intent.json", "--port", String(port)];
  child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout!, child.stderr!])
    createInterface(stream).on("line", (line) => outputLines.push(line));
  await waitForLine(LISTENING);
});
afterAll(async () => {
  if (child.exitCode === null) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});

/** Waits for an output line that matches; returns all lines up to it and removes them from `outputLines`. */
async function waitForLine(line: RegExp): Promise<string[]> {
  const count = await vi.waitUntil(() => outputLines.findIndex((output) => line.test(output)) + 1, { timeout: 60_000 });
  return outputLines.splice(0, count);
}

function editFile(file: string, ...edits: [from: string, to: string][]): void {
  const path = join(folder, file);
  let text = readFileSync(path, "utf8");
  for (const [from, to] of edits) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(path, text);
}

test("a change of the service's code restarts it after an orderly shutdown", async () => {
  // A service that is slow to stop: the restart must wait for it.
  const wait = "await new Promise((resolve) => setTimeout(resolve, 1500));";
  editFile("local/ui_server.ts", ["await running.stop();", `${wait} await running.stop();`]);
  await waitForLine(LISTENING);
  editFile("lib/kit/version.ts", ["= packageVersion", '= packageVersion + "-changed"']);
  const lines = await waitForLine(LISTENING);
  expect(lines.some((line) => STOPPING.test(line) && line.includes("SIGTERM"))).toBe(true);
  expect(lines.some((line) => ENDED.test(line))).toBe(false);
  expect(lines.at(-1)).toMatch(/"version":"[\d.]+-changed"/);
  editFile("local/ui_server.ts", [wait, ""]);
  await waitForLine(LISTENING);
});

// Uses the version that the test before it set.
test("a build error is reported, and the running service continues", async () => {
  editFile("lib/kit/version.ts", ["export const", "export cnst"]);
  await waitForLine(/lib\/kit\/version\.ts:\d+:\d+/);
  editFile("lib/kit/version.ts", ["export cnst", "export let const"]);
  const lines = await waitForLine(/lib\/kit\/version\.ts:\d+:\d+/);
  expect(lines.filter((line) => STOPPING.test(line))).toEqual([]);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  editFile("lib/kit/version.ts", ["export let const", "export const"], ["-changed", "-repaired"]);
  expect((await waitForLine(LISTENING)).at(-1)).toContain("-repaired");
});

describe.skipIf(!browser)("in a browser", () => {
  const open = useWindows(browser);
  test("a change of the console reloads the open page without a restart of the service", async () => {
    const page = await open();
    await visit(page, url, "changes");
    const outline = () => page.evaluate(() => getComputedStyle(document.body).outlineColor);
    expect(await outline()).not.toBe("rgb(1, 2, 3)");
    appendFileSync(join(folder, "local/ui/style.css"), "body { outline-color: rgb(1, 2, 3) }");
    await page.waitForFunction(() => getComputedStyle(document.body).outlineColor === "rgb(1, 2, 3)");
    expect(page.url(), "the page stays open").toContain("#/changes");
    expect(outputLines.filter((line) => STOPPING.test(line))).toEqual([]);
  });
});

test("a service that has ended by itself is started again by the next change", async () => {
  editFile("local/ui_server.ts", ["const log = openLog();", "const log = openLog(); process.exit(7);"]);
  await waitForLine(ENDED);
  editFile("local/ui_server.ts", [" process.exit(7);", ""]);
  await waitForLine(LISTENING);
});

test("a stop signal ends the service and leaves no files behind", async () => {
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(outputLines.some((line) => STOPPING.test(line))).toBe(true);
  expect(readdirSync(join(folder, "node_modules/.cache/countersign"))).toEqual([]);
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

test("the published console contains no development code", async () => {
  const ui = join(await program(), "../ui");
  expect(existsSync(join(ui, "reload.js"))).toBe(false);
  const page = readFileSync(join(ui, "index.html"), "utf8")
    .replace(/chunks\/style-[0-9a-f]{16}\.css/, "style.css")
    .replace(/chunks\/core-[0-9a-f]{16}\.js/, "app.js");
  expect(page).toBe(readFileSync(join(CHECKOUT, "local/ui/index.html"), "utf8"));
});
