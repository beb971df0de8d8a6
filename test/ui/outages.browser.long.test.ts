/** The console without an event stream, without a part of the service, and during a restart of the service. */
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { program, temporaryFolder } from "../e2e/server.ts";
import { freshness, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("the console without a stream, a part or the service", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
  });

  /** Answers the event stream of a page with 404. */
  const blockStream = (page: Page) => page.route("**/api/events", (route) => route.fulfill({ status: 404, json: {} }));

  test("without an event stream the page polls every ten seconds and says so", async () => {
    const page = await open(ANA);
    await page.clock.install();
    await blockStream(page);
    const id = await service.propose({ target: "limits.polled" });
    await visit(page, service.url, `changes/${id}`);
    await freshness(page, "Every 10 s").waitFor();
    await page.clock.runFor(5_000);
    await service.post("api/product/deny", { change_id: id, approver: "bo" });
    expect(await page.locator(".change-head .mark").innerText()).toBe("Waits for consent");
    await page.clock.runFor(11_000);
    await page.locator(".change-head .mark").getByText("Denied").waitFor();
  });

  test("without an event stream the list of changes is updated and counts newer changes", async () => {
    const page = await open(ANA);
    await page.clock.install();
    await blockStream(page);
    const id = await service.propose({ target: "limits.listed" });
    await visit(page, service.url, "changes");
    await freshness(page, "Every 10 s").waitFor();
    const row = page.locator(".change-row").filter({ hasText: "limits.listed" });
    await row.getByText("Waits for consent").waitFor();
    await page.clock.runFor(1_000);
    await service.post("api/product/deny", { change_id: id, approver: "bo" });
    await service.propose({ target: "limits.listed" });
    await page.clock.runFor(11_000);
    await row.getByText("Denied", { exact: true }).waitFor();
    await page.getByRole("button", { name: "1 newer change: show" }).click();
    await row.getByText("Waits for consent").waitFor();
  });

  test("an event stream that ends immediately is reopened only after a pause", async () => {
    const page = await open(ANA);
    await page.clock.install();
    let opened = 0;
    const body = "retry: 3000\n\n";
    await page.route("**/api/events", (route) => {
      opened++;
      return route.fulfill({ body, contentType: "text/event-stream" });
    });
    await visit(page, service.url, "");
    await freshness(page, "Every 10 s").waitFor();
    // Gives the page time to reopen the stream too early.
    for (let round = 0; round < 20; round++)
      await page.evaluate(() => fetch("api/product/identity").then((answer) => answer.text()));
    expect(opened).toBe(1);
    await page.clock.runFor(11_000);
    await expect.poll(() => opened, { timeout: 30_000 }).toBe(2);
  });

  test("the inbox does not read waiting changes one by one, and follows the log", async () => {
    await service.propose({ tenant_id: "once", target: "limits.once" });
    const page = await open(ANA);
    const requestedPaths: string[] = [];
    page.on("request", (request) => requestedPaths.push(new URL(request.url()).pathname));
    await visit(page, service.url, "");
    await freshness(page, "Live").waitFor();
    const second = await service.propose({ tenant_id: "once", target: "limits.once", summary: "The same again" });
    const row = page.getByRole("listitem").filter({ has: page.locator(`a[href$="${second}"]`) });
    await row.getByText("1 other live change on this target").waitFor();
    expect(requestedPaths.filter((path) => path.includes("/changes/"))).toEqual([]);
    expect(requestedPaths.some((path) => path.endsWith("/api/inbox"))).toBe(true);
  });

  test("after an upgrade of the service the open page asks for a reload and keeps typed text", async () => {
    const oldService = await startService();
    const page = await open(ANA);
    await visit(page, oldService.url, "propose");
    await freshness(page, "Live").waitFor();
    await page.getByLabel("Summary").fill("Not sent yet");
    oldService.server.child.kill("SIGTERM");
    await oldService.server.ended;
    await freshness(page, "Offline since").waitFor();
    const folder = join(temporaryFolder(), "ui");
    cpSync(join(await program(), "../ui"), folder, { recursive: true });
    renameBuild(folder);
    await startService({ before: oldService, args: [`--ui-dir=${folder}`] });
    await page.getByText("The service was upgraded, and this page is from before.").waitFor();
    expect(await page.getByLabel("Summary").inputValue()).toBe("Not sent yet");
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("The service was upgraded").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name="summary"]')?.value !== undefined);
    expect(await page.getByLabel("Summary").inputValue()).toBe("Not sent yet");
  });

  test("a page that could not be loaded during an outage appears after it", async () => {
    const before = await startService();
    const page = await open(ANA);
    await visit(page, before.url, "");
    await freshness(page, "Live").waitFor();
    before.server.child.kill("SIGTERM");
    await before.server.ended;
    await freshness(page, "Offline since").waitFor();
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByText("This page could not be loaded.").waitFor();
    await startService({ before });
    await page.getByRole("heading", { name: "Entries" }).waitFor();
  });

  test("the settings say which parts the service does not have", async () => {
    const page = await open(ANA);
    await page.route(/api\/(peers|evolved)/, (route) =>
      route.fulfill({ status: 404, json: { error: "there is nothing here", code: "not_found", status: 404 } }),
    );
    await visit(page, service.url, "settings");
    await expect.poll(() => page.getByText("Not available on this service.").count()).toBe(2);
  });

  test("without an intent each page says how to start the service with one", async () => {
    const off = await startService({ runtime: "off" });
    const page = await open(ANA);
    for (const path of ["", "changes", "kpis", "audit", "propose", "settings"]) {
      await visit(page, off.url, path);
      await page.getByText("--product-intent product_intent.json").first().waitFor();
    }
  });
});

/** Renames the files of a built console as another build would name them. */
function renameBuild(folder: string): void {
  const [, build = ""] = /core-([0-9a-f]{16})\.js/.exec(readFileSync(join(folder, "index.html"), "utf8"))!;
  const rename = (text: string) => text.replaceAll(build, "0123456789abcdef");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.includes("."))) {
    const path = join(folder, name);
    writeFileSync(path, rename(readFileSync(path, "utf8")));
    renameSync(path, join(folder, rename(name)));
  }
}
