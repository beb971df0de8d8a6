/** The audit page: filters, verification of the log in the browser and against a receipt, and downloads. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;
let denied: string;

describe.skipIf(!browser)("the audit log in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    const { post, propose } = service;
    await post("api/product/kpi", { nrr_quarterly: "1.02" });
    denied = await propose();
    await post("api/product/deny", { change_id: denied, approver: "bo", note: "Not now." });
    const applied = await propose({ tenant_id: "t2", target: "limits.seats" });
    await post("api/product/approve", { change_id: applied, approver: "bo" });
    await post("api/product/apply", { change_id: applied });
  });

  test("filters are part of the address, and a change links to its entries", async () => {
    const page = await open(ANA);
    const events = () => page.locator("td[data-label=Event]").allInnerTexts();
    await visit(page, service.url, "audit");
    // The intent, the feed, two entries of the denied change and three of the applied one.
    expect(await events()).toHaveLength(7);
    await page.locator("td[data-label=Change]").getByText("Raise the limit").first().waitFor();
    await page.getByLabel("Event").selectOption("consent_decision");
    await page.locator("tbody tr").nth(2).waitFor({ state: "detached" });
    expect(page.url()).toContain("event_type=consent_decision");
    await page.getByLabel("Tenant").fill("t2");
    await button(page, "Filter").click();
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    expect(page.url()).toContain("tenant=t2");
    await page.locator("tbody tr").getByText("Detail").click();
    await page.getByText('"approver": "bo"').waitFor();
    await visit(page, service.url, "audit");
    await page.getByLabel("Person").fill("BO");
    await page.getByLabel("From", { exact: true }).fill(new Date().toISOString().slice(0, 10));
    await page.getByLabel("Text").fill("approved by bo");
    await button(page, "Filter").click();
    await expect.poll(events).toEqual([expect.stringContaining("Approved by bo")]);
    expect(page.url()).toContain("person=BO&text=approved+by+bo");
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByLabel("From", { exact: true }).fill("");
    await button(page, "Filter").click();
    await page.getByText("No entry matches here.").waitFor();
    await visit(page, service.url, `changes/${denied}`);
    await page.locator(".timeline").getByRole("link").first().click();
    await page.getByRole("heading", { name: "Entries" }).waitFor();
    expect(await events()).toHaveLength(2);
  });

  test("the check in the browser finds an edited or missing entry, a cut end and a rewrite", async () => {
    const page = await open(ANA);
    let tamperEntries: (entries: Entry[]) => Entry[];
    let tamperLength: (actual: number) => number;
    // One route for all cases: a request that is sent while a route is replaced would never be answered.
    await page.route("**/api/product/audit?after=*", async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({
        json: { ...body, entries: tamperEntries(body.entries), length: tamperLength(body.length) },
      });
    });
    const checkTampered = async (entries: typeof tamperEntries, length: typeof tamperLength = (actual) => actual) => {
      tamperEntries = entries;
      tamperLength = length;
      await page.getByRole("button", { name: "Check in this browser" }).click();
      return page.locator(".chain-check .notice").innerText();
    };
    await visit(page, service.url, "audit");
    expect(await checkTampered((entries) => entries)).toContain("each matches its hash");
    expect(
      await checkTampered((all) => all.map((entry) => (entry.id === 3 ? { ...entry, tenant: "t2" } : entry))),
    ).toContain("The chain breaks at entry 3: its hash does not match its content.");
    expect(await checkTampered((entries) => entries.filter(({ id }) => id !== 4))).toContain(
      "The chain breaks at entry 5",
    );
    const newest = (await service.get("api/product/audit?limit=1")).entries[0];
    const storeReceipt = (receipt: string) =>
      page.evaluate((text) => localStorage.setItem("countersign.receipt", text), receipt).then(() => page.reload());
    await storeReceipt(`${newest.origin} ${newest.id} ${newest.current_hash}`);
    const uncut = await checkTampered((entries) => entries);
    expect(uncut).toContain("The newest receipt of this browser is among them");
    const cutLength = newest.id - 1;
    expect(
      await checkTampered(
        (entries) => entries.filter(({ id }) => id <= cutLength),
        () => cutLength,
      ),
    ).toContain("its tail was cut");
    await storeReceipt(`${newest.origin} ${newest.id} ${"0".repeat(64)}`);
    expect(await checkTampered((entries) => entries)).toContain("the log was rewritten");
    await page.getByText("Ask the service").click();
    await page.getByText(`The chain breaks at entry ${newest.id}`).first().waitFor();
  });

  test("the page of a change reports an altered entry", async () => {
    const page = await open(ANA);
    await page.route(`**/api/product/changes/${denied}*`, async (route) => {
      const body = await (await route.fetch()).json();
      body.audit_entries[1].detail = body.audit_entries[1].detail.replace("denied", "approved");
      await route.fulfill({ json: body });
    });
    await visit(page, service.url, `changes/${denied}`);
    await page.getByText("A hash does not match its entry: the entry was altered after it was written.").waitFor();
    expect(await page.getByText("altered", { exact: true }).count()).toBe(1);
  });

  test("the log, a checkpoint and the evidence pack of a period can be downloaded", async () => {
    const page = await open(ANA);
    const today = new Date().toISOString().slice(0, 10);
    await visit(page, service.url, `audit?from=${today}`);
    const download = async (name: RegExp | string) => {
      const downloadButton = page.getByRole("button", { name });
      const [saved] = await Promise.all([page.waitForEvent("download"), downloadButton.click()]);
      return { name: saved.suggestedFilename(), text: readFileSync(await saved.path(), "utf8") };
    };
    const { length } = await service.get("api/product/audit?limit=1");
    const log = await download(`Log of ${length} entries`);
    expect([log.name, log.text.trimEnd().split("\n").length]).toEqual(["audit.jsonl", length]);
    expect(JSON.parse((await download("Checkpoint")).text)).toMatchObject({ length });
    const pack = await download("Pack of the days below");
    expect(pack.name).toBe(`audit-${today}.tar`);
    expect(pack.text).toContain("README");
  });
});

interface Entry {
  id: number;
  tenant: string;
}
