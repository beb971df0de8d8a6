/** What the console costs: its first load, and a list of ten thousand changes. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { killAll, program } from "../e2e/server.ts";
import { openWindow, startBrowser, visit, type Window } from "./browser.ts";
import { PROPOSAL, type Service, startService, TOKEN } from "./service.ts";

const CHANGES = 10_000;
const FIRST_LOAD = 60_000;
/** What a tall screen shows, and a few rows beyond each end. */
const ROWS_AT_MOST = 60;

const browser = await startBrowser();
let service: Service;
let opened: Window;

describe.skipIf(!browser)("the cost of the console", () => {
  beforeAll(async () => {
    service = await startService();
    await proposeMany(service.url, CHANGES);
    opened = await openWindow(browser!, { name: "ana", token: TOKEN });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await killAll();
  });

  test("the first load is 60 KB at most, compressed, in all", async () => {
    const { page } = opened;
    const files = new Map<string, number>();
    page.on("response", async (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith("/api/")) files.set(pathname, gzipSync(await response.body()).length);
    });
    await visit(page, service.url, "");
    await page.waitForLoadState("load");
    const total = [...files.values()].reduce((sum, size) => sum + size, 0);
    process.stdout.write(`first load: ${total} bytes compressed, in ${files.size} files\n`);
    expect([...files.keys()]).toEqual(expect.arrayContaining(["/", "/app.js", "/style.css"]));
    expect(total).toBeLessThanOrEqual(FIRST_LOAD);
  });

  test("of ten thousand changes only those in sight are in the page, wherever one scrolls", async () => {
    const { page, faults } = opened;
    await visit(page, service.url, "changes");
    await page.getByText("10,000 changes, newest first").waitFor();
    const rows = page.locator(".virtual > li");
    expect(await rows.count()).toBeLessThanOrEqual(ROWS_AT_MOST);
    const most = await page.evaluate(scrollToTheEnd);
    expect(most).toBeLessThanOrEqual(ROWS_AT_MOST);
    const last = rows.last();
    await last.getByText("number-0 of many").waitFor();
    expect(await last.getAttribute("aria-posinset")).toBe(String(CHANGES));
    expect(await last.getAttribute("aria-setsize")).toBe(String(CHANGES));
    expect(await page.evaluate(framesWhileScrolling), "frames over 100 ms").toBeLessThanOrEqual(5);
    expect(faults).toEqual([]);
  });

  test("filters are kept in the address, and words are looked for in what was read", async () => {
    const { page } = opened;
    await visit(page, service.url, "changes?status=pending_consent&q=number-7777");
    await page.getByText("1 change with these words").waitFor({ timeout: 10_000 });
    await page.getByLabel("Words").fill("number-4242 of");
    await page.getByRole("link", { name: "limits.many" }).waitFor();
    expect(page.url()).toContain("q=number-4242+of");
    await page.getByLabel("Status").selectOption("denied");
    await page.getByText("No change fits.").waitFor();
    expect(page.url()).toContain("status=denied");
  });

  test("what is proposed meanwhile is counted, and shown when it is asked for", async () => {
    const { page } = opened;
    await visit(page, service.url, "changes");
    await page.getByRole("link", { name: "limits.many" }).first().waitFor();
    await page.getByRole("status").getByText("Live").waitFor();
    await service.propose({ summary: "the newest of all" });
    const show = page.getByRole("button", { name: "1 newer change: show" });
    await show.waitFor();
    expect(await page.getByText("the newest of all").count()).toBe(0);
    await show.click();
    await page.getByText("the newest of all").waitFor();
  });
});

test("the built console names no other host", async () => {
  const folder = (await program()).replace(/ui_server\.js$/, "ui/");
  const page = readFileSync(`${folder}index.html`, "utf8");
  expect(page).not.toMatch(/https?:|<script>|\sstyle=|\son[a-z]+=/);
  expect(readFileSync(`${folder}style.css`, "utf8")).not.toMatch(/url\(\s*["']?(?:https?:|\/\/)/);
});

/** Proposes changes, many at a time. */
async function proposeMany(url: string, count: number): Promise<void> {
  const headers = { "x-svc-admin-token": TOKEN };
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const summary = `number-${next++} of many`;
      const body = new URLSearchParams({ ...PROPOSAL, target: "limits.many", summary });
      const response = await fetch(new URL("api/product/propose", url), { method: "POST", body, headers });
      if (!response.ok) throw new Error(await response.text());
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

/** Scrolls until the list has ended; resolves with the most rows that were in the page at once. In the page. */
async function scrollToTheEnd(): Promise<number> {
  let most = 0;
  for (let quiet = 0; quiet < 3;) {
    const before = document.documentElement.scrollHeight;
    scrollTo(0, before);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    await new Promise((resolve) => requestAnimationFrame(resolve));
    most = Math.max(most, document.querySelectorAll(".virtual > li").length);
    const more = document.querySelector(".more button");
    if (!more && document.documentElement.scrollHeight === before) quiet++;
  }
  return most;
}

/** Scrolls through the whole list and counts the frames that took longer than 100 ms. In the page. */
async function framesWhileScrolling(): Promise<number> {
  let slow = 0;
  let last = performance.now();
  for (let step = 0; step <= 60; step++) {
    scrollTo(0, (document.documentElement.scrollHeight * step) / 60);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const now = performance.now();
    if (now - last > 100) slow++;
    last = now;
  }
  return slow;
}
