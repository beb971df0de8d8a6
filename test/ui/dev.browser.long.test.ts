/** `npm run dev`: what a contributor changes in a checkout shows by itself, in the service and in the open page. */
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
/** The service's own description, and that of `npm run dev`. */
const LISTENING = /"message":"listening"/;
const STOPPING = /"message":"stopping"/;
const ENDED = /The service has ended/;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const browser = await startBrowser();
const folder = temporaryFolder();
const said: string[] = [];
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
  for (const output of [child.stdout!, child.stderr!]) createInterface(output).on("line", (line) => said.push(line));
  await heard(LISTENING);
});
afterAll(async () => {
  if (child.exitCode === null) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});

/** Waits until a line is said; gives all that was said up to it, and forgets it. */
async function heard(line: RegExp): Promise<string[]> {
  const place = await vi.waitUntil(() => said.findIndex((one) => line.test(one)) + 1, { timeout: 60_000 });
  return said.splice(0, place);
}

function change(file: string, ...edits: [from: string, to: string][]): void {
  const path = join(folder, file);
  let text = readFileSync(path, "utf8");
  for (const [from, to] of edits) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(path, text);
}

test("a change of the service restarts it, when the one before has ended in good order", async () => {
  const wait = "await new Promise((resolve) => setTimeout(resolve, 1500));";
  change("local/ui_server.ts", ["await running.stop();", `${wait} await running.stop();`]);
  await heard(LISTENING);
  change("lib/kit/version.ts", ["= packageVersion", '= packageVersion + "-changed"']);
  const lines = await heard(LISTENING);
  expect(lines.some((line) => STOPPING.test(line) && line.includes("SIGTERM"))).toBe(true);
  expect(lines.some((line) => ENDED.test(line))).toBe(false);
  expect(lines.at(-1)).toMatch(/"version":"[\d.]+-changed"/);
  change("local/ui_server.ts", [wait, ""]);
  await heard(LISTENING);
});

test("what does not build is reported, and what runs goes on", async () => {
  change("lib/kit/version.ts", ["export const", "export cnst"]);
  await heard(/lib\/kit\/version\.ts:\d+:\d+/);
  change("lib/kit/version.ts", ["export cnst", "export let const"]);
  const lines = await heard(/lib\/kit\/version\.ts:\d+:\d+/);
  expect(lines.filter((line) => STOPPING.test(line))).toEqual([]);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  change("lib/kit/version.ts", ["export let const", "export const"], ["-changed", "-mended"]);
  expect((await heard(LISTENING)).at(-1)).toContain("-mended");
});

describe.skipIf(!browser)("in a browser", () => {
  const open = useWindows(browser);
  test("a change of the console reloads the open page, and the service runs on", async () => {
    const page = await open();
    await visit(page, url, "changes");
    const outline = () => page.evaluate(() => getComputedStyle(document.body).outlineColor);
    expect(await outline()).not.toBe("rgb(1, 2, 3)");
    appendFileSync(join(folder, "local/ui/style.css"), "body { outline-color: rgb(1, 2, 3) }");
    await page.waitForFunction(() => getComputedStyle(document.body).outlineColor === "rgb(1, 2, 3)");
    expect(page.url(), "the place is kept").toContain("#/changes");
    expect(said.filter((line) => STOPPING.test(line))).toEqual([]);
  });
});

test("a service that ends by itself is started again by the next change", async () => {
  change("local/ui_server.ts", ["const log = openLog();", "const log = openLog(); process.exit(7);"]);
  await heard(ENDED);
  change("local/ui_server.ts", [" process.exit(7);", ""]);
  await heard(LISTENING);
});

test("on a stop signal it ends the service and leaves nothing behind", async () => {
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(said.some((line) => STOPPING.test(line))).toBe(true);
  expect(readdirSync(join(folder, "node_modules/.cache/countersign"))).toEqual([]);
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

test("nothing of it is in what is published", async () => {
  const ui = join(await program(), "../ui");
  expect(existsSync(join(ui, "reload.js"))).toBe(false);
  const page = readFileSync(join(ui, "index.html"), "utf8")
    .replace(/chunks\/style-[0-9a-f]{16}\.css/, "style.css")
    .replace(/chunks\/core-[0-9a-f]{16}\.js/, "app.js");
  expect(page).toBe(readFileSync(join(CHECKOUT, "local/ui/index.html"), "utf8"));
});
