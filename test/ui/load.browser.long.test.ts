/** Limits for the cost of the console: its first load, a list of ten thousand changes, and a long log. */
import { readFileSync } from "node:fs";
import { Agent, request as openRequest } from "node:http";
import { beforeAll, describe, expect, test } from "vitest";
import { program } from "../e2e/server.ts";
import { button, freshness, startBrowser, useWindows, visit } from "./browser.ts";
import { PROPOSAL, type Service, startService, TOKEN } from "./service.ts";
import { inFull } from "../support/run_length.ts";

const CHANGE_COUNT = 10_000;
const WAITING_COUNT = 500;
const MAX_FIRST_LOAD_BYTES = 55_000;
const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("the cost of the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    await proposeMany(service.url, CHANGE_COUNT);
  });

  test("the first load is at most 55 KB in three compressed, cached files and eight requests", async () => {
    const page = await open(ANA);
    const loaded: Record<string, { size: number; encoding: string | undefined; cached: string | undefined }> = {};
    const requested: string[] = [];
    page.on("request", (request) => void requested.push(new URL(request.url()).pathname));
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith("/api/") || response.request().method() !== "GET") return;
      const { "content-encoding": encoding, "cache-control": cached, "content-length": size } = response.headers();
      loaded[pathname] = { size: Number(size), encoding, cached };
    });
    await visit(page, service.url, "");
    await page.waitForLoadState("load");
    const total = Object.values(loaded).reduce((sum, { size }) => sum + size, 0);
    process.stdout.write(`first load: ${total} bytes in ${Object.keys(loaded).length} files\n`);
    expect(loaded["/"]).toMatchObject({ encoding: "br", cached: "no-cache" });
    for (const name of ["/core-", "/style-"]) {
      const file = Object.keys(loaded).find((path) => path.includes(name))!;
      expect(loaded[file]).toMatchObject({ encoding: "br", cached: expect.stringContaining("immutable") });
    }
    expect(Object.keys(loaded)).toHaveLength(3);
    for (const last of ["/api/events", "/api/find"]) await expect.poll(() => requested).toContain(last);
    await freshness(page, "Live").waitFor();
    expect(requested.length, requested.join()).toBeLessThanOrEqual(8);
    expect(total).toBeLessThanOrEqual(MAX_FIRST_LOAD_BYTES);
  });

  test("a warm reload at 400 ms and 50 KB/s shows the page within 1.5 s", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "");
    await page.getByText("Your proposals").or(page.locator("article.row").first()).first().waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    const slow = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
    await session.send("Network.emulateNetworkConditions", slow);
    await page.addInitScript(recordFirstRow);
    const reload = async (): Promise<number> => {
      await page.reload({ waitUntil: "commit" });
      await page.locator("article.row").first().waitFor();
      return page.evaluate(() => (globalThis as unknown as { firstRow: number }).firstRow);
    };
    const times = [await reload(), await reload(), await reload()];
    process.stdout.write(`warm reload at 400 ms and 50 KB/s: ${times.map(Math.round).join(", ")} ms\n`);
    expect(Math.max(...times)).toBeLessThan(1500);
  });

  test("a query counts ten thousand changes and shows one page of them", async () => {
    // Counts follow the log, which may take a moment after so many proposals.
    const total = async () => (await service.get("api/product/runtime?limit=1")).total;
    await expect.poll(total, { timeout: 60_000, interval: 200 }).toBe(CHANGE_COUNT);
    const page = await open(ANA);
    await visit(page, service.url, "changes");
    await page.getByText("10,000 changes, newest first.").waitFor();
    expect(await page.locator(".change-row").count()).toBe(50);
    await visit(page, service.url, "changes?q=is:pending_consent+number-7");
    await page.getByText("1 change matches.").waitFor();
    expect(await page.locator(".change-name").innerText()).toContain("number-7 of many");
    const field = page.getByRole("combobox", { name: "Query" });
    for (const [query, count] of [
      ["of number-17", "1 change matches."],
      ["many", "10,000 changes match."],
      ["many is:denied", "0 changes match."],
    ] as const) {
      await field.fill(query);
      await field.press("Enter");
      await page.getByText(`Query: ${query}`).waitFor();
      await page.getByText(count).waitFor();
      expect(await page.locator(".change-row").count()).toBeLessThanOrEqual(50);
    }
  });

  test("the oldest of ten thousand changes is found by words or id, and a search is a link", async () => {
    const { changes } = await (await fetch(`${service.url}/api/product/runtime?text=number-0&entries=0`)).json();
    const id: string = changes[0].change_id;
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    for (const words of ["number-0", id]) {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(words);
      await page.getByRole("dialog").getByRole("link", { name: "number-0 of many" }).first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/changes/${id}`);
      await visit(page, service.url, "settings");
    }
    await page.keyboard.press("/");
    await page.keyboard.type("many");
    await page.getByRole("link", { name: "All 10,000 in Changes" }).click();
    await page.getByText("10,000 changes match.").waitFor();
    expect(page.url()).toContain("changes?q=many");
  });

  test("new proposals are counted first, and shown on request", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "changes");
    await page
      .getByRole("link", { name: /^number-\d+ of many$/ })
      .first()
      .waitFor();
    await freshness(page, "Live").waitFor();
    await service.propose({ summary: "the newest of all" });
    const show = page.getByRole("button", { name: "1 newer change: show" });
    await show.waitFor();
    expect(await page.getByText("the newest of all").count()).toBe(0);
    await show.click();
    await page.getByText("the newest of all").waitFor();
  });

  inFull(test)("the inbox shows the 500 waiting changes of ten thousand after three requests", async () => {
    const { changes } = await service.get(`api/product/runtime?text=many&limit=1000&entries=0`);
    const waitingIds = new Set<string>(
      changes.slice(0, WAITING_COUNT).map(({ change_id }: { change_id: string }) => change_id),
    );
    await denyAllExcept(service, waitingIds);
    const pending = async () => (await service.get("api/inbox?limit=1")).totals.pending;
    await expect.poll(pending, { timeout: 60_000, interval: 200 }).toBe(WAITING_COUNT);
    const page = await open(ANA);
    const requested: string[] = [];
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname;
      if (path.startsWith("/api/") && path !== "/api/events") requested.push(path);
    });
    const startedAt = performance.now();
    await page.goto(service.url);
    await page.locator("article.row").first().waitFor();
    const ms = Math.round(performance.now() - startedAt);
    process.stdout.write(`inbox of ${WAITING_COUNT} among ${CHANGE_COUNT}: ready in ${ms} ms\n`);
    expect(requested.slice(0, 3).toSorted()).toEqual(["/api/inbox", "/api/state", "/api/whoami"]);
    await page.getByText(`${WAITING_COUNT} changes wait for your consent`).waitFor();
  });

  test("the check of a long log shows progress and can be stopped; the log can be downloaded", async () => {
    const { length } = await service.get("api/product/audit?limit=1");
    const shownLength = length.toLocaleString("en-US");
    const page = await open(ANA);
    await visit(page, service.url, "audit");
    await page.evaluate(recordProgress);
    const takeProgress = () =>
      page.evaluate(() => (globalThis as unknown as { progress: number[] }).progress.splice(0));
    await button(page, "Check in this browser").click();
    await button(page, "Stop").click();
    await button(page, "Check in this browser").click();
    await page.getByText(`${shownLength} entries checked here, 1 to ${length}: each matches its hash`).waitFor();
    // The bar moves with each page of 1,000 entries; the page may not be drawn each time.
    expect((await takeProgress()).length, "shown values between start and end").toBeGreaterThanOrEqual(
      Math.floor(length / 2200),
    );
    await page.getByRole("button", { name: `Log of ${shownLength} entries`, exact: true }).click();
    await page.getByText(/^Saved audit\.jsonl, \d+\.\d MB/).waitFor();
  });
});

test("the built console loads nothing from other hosts", async () => {
  const folder = (await program()).replace(/ui_server\.js$/, "ui/");
  const page = readFileSync(`${folder}index.html`, "utf8");
  expect(page).not.toMatch(/https?:|<script>|\sstyle=|\son[a-z]+=/);
  const [style] = /chunks\/style-[0-9a-f]+\.css/.exec(page)!;
  expect(readFileSync(folder + style, "utf8")).not.toMatch(/url\(\s*["']?(?:https?:|\/\/)/);
});

/** Proposes changes over many connections. */
const proposeMany = (url: string, count: number): Promise<void> =>
  sendMany(
    new URL("api/product/propose", url),
    Array.from({ length: count }, (_, index) => ({
      ...PROPOSAL,
      target: "limits.many",
      summary: `number-${index} of many`,
    })),
  );

/** Denies all waiting changes except those with the ids `excepted`. */
async function denyAllExcept({ url, get }: Service, excepted: ReadonlySet<string>): Promise<void> {
  const ids: string[] = [];
  for (let before: string | null = ""; before !== null;) {
    const page = await get(`api/product/runtime?status=pending_consent&entries=0${before && `&before=${before}`}`);
    ids.push(...page.changes.map(({ change_id }: { change_id: string }) => change_id));
    before = page.next;
  }
  const denied = ids.filter((id) => !excepted.has(id));
  await sendMany(
    new URL("api/product/deny", url),
    denied.map((change_id) => ({ change_id, approver: "bo" })),
  );
}

/** Sends forms over many connections. */
async function sendMany(url: URL, forms: readonly Record<string, string>[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const options = { method: "POST", agent, headers: { "x-svc-admin-token": TOKEN } };
  const send = (fields: Record<string, string>) =>
    new Promise<void>((resolve, reject) => {
      const sent = openRequest(url, options, (response) => {
        response.resume().once("end", resolve);
        if (response.statusCode! >= 300) reject(new Error(`${url.pathname} answered ${response.statusCode}`));
      });
      sent.once("error", reject).end(new URLSearchParams(fields).toString());
    });
  let next = 0;
  const worker = async () => {
    while (next < forms.length) await send(forms[next++]!);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  agent.destroy();
}

/** Records the milliseconds from the start of the navigation to the first row. Runs in the page. */
function recordFirstRow(): void {
  const observer = new MutationObserver(() => {
    if (!document.querySelector("article.row")) return;
    (globalThis as unknown as { firstRow: number }).firstRow = performance.now();
    observer.disconnect();
  });
  observer.observe(document, { subtree: true, childList: true });
}

/** Records the values that a progress bar shows between its start and its end. Runs in the page. */
function recordProgress(): void {
  const progress: number[] = ((globalThis as unknown as { progress: number[] }).progress = []);
  new MutationObserver(() => {
    const bar = document.querySelector("progress");
    if (bar && bar.value > 0 && bar.value < bar.max && bar.value !== progress.at(-1)) progress.push(bar.value);
  }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
}
