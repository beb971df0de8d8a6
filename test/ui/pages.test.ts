/** Every page of the console: for everybody, at every width, in both themes, whatever somebody wrote into the records. */
import { exec } from "node:child_process";
import { writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { killAll } from "../e2e/server.ts";
import { closeWindow, openWindow, PAGES, startBrowser, visit, type Window } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const IMAGE = `<img src=x onerror="window.hacked=1">`;
/** Turned around by U+202E, this reads as another file's name. */
const TURNED = "invoice\u202Efdp.exe";
const LONG = `${IMAGE} ${TURNED} ${"wide".repeat(2000)}`;

const browser = await startBrowser();
let service: Service;
let hostile: { pending: string; applied: string; denied: string };
const windows: Window[] = [];

const open = async (options: Parameters<typeof openWindow>[1] = {}): Promise<Page> => {
  const opened = await openWindow(browser!, { name: "ana", token: TOKEN, ...options });
  windows.push(opened);
  return opened.page;
};

describe.skipIf(!browser)("pages of the console", () => {
  beforeAll(async () => {
    service = await startService();
    hostile = await fill(service);
  });
  afterEach(async () => {
    const faults = windows.flatMap((one) => one.faults);
    await Promise.all(windows.splice(0).map(closeWindow));
    expect(faults, "policy violations and script errors").toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await killAll();
  });

  const places = () => [...PAGES, ...Object.values(hostile).map((id) => `changes/${id}`)];

  test.each(["light", "dark"] as const)("axe finds nothing serious on any page, %s", async (colorScheme) => {
    const page = await open({ colorScheme });
    const found: string[] = [];
    for (const place of places()) {
      await visit(page, service.url, place);
      found.push(...(await seriousOn(page, place)));
    }
    await page.getByRole("button", { name: "Keys" }).click();
    found.push(...(await seriousOn(page, "help")));
    await page.keyboard.press("Escape");
    await visit(page, service.url, `changes/${hostile.pending}`);
    await page.getByRole("button", { name: "Approve…" }).click();
    found.push(...(await seriousOn(page, "decision")));
    expect(found).toEqual([]);
  });

  test.each([360, 1440])("at %i pixels nothing sticks out, and hostile text is only text", async (width) => {
    const page = await open({ viewport: { width, height: 800 } });
    const wide: string[] = [];
    for (const place of places()) {
      await visit(page, service.url, place);
      const { over, images, hacked } = await page.evaluate(() => ({
        over: document.documentElement.scrollWidth - innerWidth,
        images: document.images.length,
        hacked: "hacked" in globalThis,
      }));
      expect({ images, hacked }, place).toEqual({ images: 0, hacked: false });
      if (over > 0) wide.push(`${place}: ${over}`);
    }
    expect(wide).toEqual([]);
  });

  test("what somebody wrote shows as they wrote it, and what turns its direction is named", async () => {
    const page = await open();
    await visit(page, service.url, `changes/${hostile.denied}`);
    const heading = page.locator("h1");
    expect(await heading.innerText()).toContain(IMAGE);
    expect(await heading.locator("bdi").count()).toBeGreaterThanOrEqual(3);
    const rationale = page.locator(".prose").first();
    expect(await rationale.innerText()).toContain(`${IMAGE} invoiceU+202Efdp.exe`);
    expect(await rationale.getAttribute("dir")).toBe("auto");
    await page.getByText("Show all 4,000 characters").first().click();
    expect((await rationale.innerText()).length).toBeGreaterThanOrEqual(4000);
    expect(await page.title()).toContain("\u2068");
  });

  test("chat and tasks take 8,000 hostile characters and show them as text", async () => {
    const page = await open();
    await visit(page, service.url, "chat");
    await page.getByLabel("Message").fill(LONG.slice(0, 8000));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Show all 8,000 characters").first().waitFor();
    await page.getByText(/memor(y was|ies were) given to this reply/).waitFor();
    await page.getByLabel("What do you remember of").fill("invoice");
    await page.getByRole("button", { name: "Search" }).click();
    const memory = page.getByRole("region", { name: "Memory" });
    await memory.getByText("invoiceU+202Efdp.exe").first().waitFor();
    await visit(page, service.url, "tasks");
    await page.keyboard.press("n");
    await page.getByLabel("Title").fill(IMAGE);
    await page.getByLabel("Description").fill(LONG.slice(0, 8000));
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByText("Show all 8,000 characters").first().waitFor();
    expect(await page.evaluate(() => ["hacked" in globalThis, document.images.length])).toEqual([false, 0]);
  });

  test("a completed task is rated by keyboard", async () => {
    await service.post("api/tasks", { title: "What moved?", required_dimension: "E", priority: "urgent" });
    await service.post("api/action/run-now", { action: "run_next_task" });
    const page = await open();
    await visit(page, service.url, "tasks");
    await page.getByText("Completed").first().waitFor();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByText("What moved?").waitFor();
    await page.keyboard.press("4");
    await page.keyboard.press("Enter");
    await page.getByText("rated 4 of 5 by ana").waitFor();
  });

  test("a proposal meets the policy that was foretold", async () => {
    const page = await open();
    await visit(page, service.url, "propose");
    const panel = page.getByRole("region", { name: "What the policy will say" });
    await page.getByLabel("Tenant").fill("t9");
    await page.getByLabel("Target").fill("billing.rates");
    await page.getByLabel("Summary").fill("Cheaper");
    const { policy } = await service.get("api/product/intent");
    if (policy) await panel.getByText("The intent forbids targets like billing.*.").waitFor();
    else await panel.getByText("does not show its rules beforehand").waitFor();
    await page.getByRole("button", { name: "Propose", exact: true }).click();
    await page.getByText("is under the intent's forbidden_targets").waitFor();
    await page.getByLabel("Target").fill("ui.banner");
    await page.getByLabel("People affected").fill("20");
    await page.getByLabel("Can it be undone?").selectOption("true");
    await page.getByLabel("Risk").selectOption("low");
    await page.getByLabel("Tier").selectOption("minor");
    if (policy) await panel.getByText("approved at once by the intent itself").waitFor();
    await page.getByLabel("New value").fill("{");
    await page.getByText("is not JSON").waitFor();
    await page.getByLabel("New value").fill("true");
    await page.getByRole("button", { name: "Propose", exact: true }).click();
    await page.getByRole("alert").getByText("Approved, not applied").waitFor();
  });

  test("the log is checked in the browser: an altered entry, a missing one, a cut tail and a rewrite show", async () => {
    const page = await open();
    const tamper = async (change: (entries: Entry[]) => Entry[], length = (given: number): number => given) => {
      await page.unrouteAll();
      await page.route("**/api/product/audit?after=*", async (route) => {
        const body = await (await route.fetch()).json();
        await route.fulfill({ json: { ...body, entries: change(body.entries), length: length(body.length) } });
      });
      await page.getByRole("button", { name: "Check in this browser" }).click();
      return page.locator(".chain-check .notice").innerText();
    };
    await visit(page, service.url, "audit");
    expect(await tamper((entries) => entries)).toContain("each fits its hash");
    expect(await tamper((all) => all.map((one) => (one.id === 3 ? { ...one, tenant: "t2" } : one)))).toContain(
      "The chain breaks at entry 3: its content does not give its hash.",
    );
    expect(await tamper((entries) => entries.filter(({ id }) => id !== 4))).toContain("The chain breaks at entry 5");
    const newest = (await service.get("api/product/audit?limit=1")).entries[0];
    const keep = (receipt: string) =>
      page.evaluate((kept) => localStorage.setItem("countersign.receipt", kept), receipt).then(() => page.reload());
    await keep(`${newest.origin} ${newest.id} ${newest.current_hash}`);
    const uncut = await tamper((entries) => entries);
    expect(uncut).toContain("The newest receipt of this browser is among them");
    const cut = newest.id - 1;
    expect(
      await tamper(
        (entries) => entries.filter(({ id }) => id <= cut),
        () => cut,
      ),
    ).toContain("its tail was cut");
    await keep(`${newest.origin} ${newest.id} ${"0".repeat(64)}`);
    expect(await tamper((entries) => entries)).toContain("the log was rewritten");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Ask the service" }).click();
    await page.getByText(`The chain breaks at entry ${newest.id}`).first().waitFor();
  });

  test("an altered entry shows on its change's page", async () => {
    const page = await open();
    await page.route(`**/api/product/changes/${hostile.denied}`, async (route) => {
      const body = await (await route.fetch()).json();
      body.audit_entries[1].detail = body.audit_entries[1].detail.replace("denied", "approved");
      await route.fulfill({ json: body });
    });
    await visit(page, service.url, `changes/${hostile.denied}`);
    await page.getByText("An entry does not fit its hash: it was altered after it was written.").waitFor();
    expect(await page.getByText("altered", { exact: true }).count()).toBe(1);
  });

  test("the export saves the whole log, one entry a line", async () => {
    const page = await open();
    await visit(page, service.url, "audit");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: /^Export \d+ entries$/ }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("audit.jsonl");
    const { length } = await service.get("api/product/audit?limit=1");
    await page.getByText(`Saved ${length} entries`).waitFor();
  });

  test("actions run now, files open, the checkpoint shows", async () => {
    const page = await open();
    await visit(page, service.url, "system");
    await page.getByRole("button", { name: "Write report" }).click();
    await page.locator(".history").getByText("Write report").waitFor();
    await page.locator(".files button").first().click();
    await page.getByRole("dialog").locator("pre").waitFor();
    await page.keyboard.press("Escape");
    await visit(page, service.url, "audit");
    await page.getByRole("button", { name: "Show the checkpoint…" }).click();
    await page.getByRole("dialog").getByText("acme-crm/audit/").first().waitFor();
  });

  test("the theme follows the system until one is chosen", async () => {
    const page = await open({ colorScheme: "dark" });
    await visit(page, service.url, "");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByLabel("Look").selectOption("light");
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, dark);
    await page.reload();
    await page.locator("h1").waitFor();
    expect(await ground()).not.toBe(dark);
  });

  test("without an event stream the page asks every ten seconds, and says so", async () => {
    const page = await open();
    await page.clock.install();
    await page.route("**/api/events", (route) => route.fulfill({ status: 404, json: {} }));
    const id = await service.propose({ target: "limits.polled" });
    await visit(page, service.url, `changes/${id}`);
    await page.getByRole("status").getByText("Every 10 s").waitFor();
    await service.post("api/product/deny", { change_id: id, approver: "bo" });
    expect(await page.locator(".change-head .mark").innerText()).toBe("Waits for consent");
    await page.clock.runFor(12_000);
    await page.locator(".change-head .mark").getByText("Denied").waitFor();
  });

  test("what this service does not have is said to be so", async () => {
    const page = await open();
    await page.route(/api\/(chat|memory|tasks|peers|l1l5_trend)/, (route) =>
      route.fulfill({ status: 404, json: { error: "there is nothing here", code: "not_found", status: 404 } }),
    );
    for (const place of ["chat", "tasks", "system"]) {
      await visit(page, service.url, place);
      await page.getByText("Not available on this service.").first().waitFor();
    }
  });

  test("before the first change the inbox holds a command to copy; it works as it stands", async () => {
    const empty = await startService(undefined, "fresh");
    const page = await open();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await visit(page, empty.url, "");
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied").waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const run = promisify(exec)(`${command} -sS -H "X-Svc-Admin-Token: ${TOKEN}"`);
    expect(JSON.parse((await run).stdout)).toMatchObject({ status: "pending_consent", tenant_id: "t1" });
    await page.getByRole("link", { name: "you asks to set crm.followup for tenant t1" }).waitFor();
  });

  test("without an intent every page of the product says how to start with one", async () => {
    const off = await startService(undefined, "off");
    const page = await open();
    for (const place of ["", "changes", "kpis", "audit", "propose", "system"]) {
      await visit(page, off.url, place);
      await page.getByText("--product-intent product_intent.json").first().waitFor();
    }
    expect(await seriousOn(page, "off")).toEqual([]);
  });

  test("an unknown change and an unknown page lead on", async () => {
    const page = await open();
    await visit(page, service.url, "changes/chg_nothing");
    await page.getByText("There is no change").waitFor();
    await visit(page, service.url, "elsewhere");
    await page.getByRole("link", { name: "Go to the inbox" }).click();
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
  });
});

interface Entry {
  id: number;
  tenant: string;
}

/** What axe finds that is serious or worse. */
async function seriousOn(page: Page, place: string): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${place || "inbox"}: ${id} ${nodes[0]?.html.slice(0, 160)}`);
}

/** Fills a service with hostile text wherever it takes text, one change of each standing, KPIs, drift. */
async function fill({ post, propose, config }: Service): Promise<typeof hostile> {
  await post("api/product/kpi", { nrr_quarterly: "1.02", incident_rate: "0.04" });
  const text = {
    tenant_id: IMAGE,
    summary: `${IMAGE} ${"x".repeat(450)}`,
    rationale: LONG.slice(0, 4000),
    proposer: `pat ${IMAGE}`,
    value: JSON.stringify({ [IMAGE]: LONG.slice(0, 2000) }),
    kpi: "nrr_quarterly",
    expected_delta_k: "0.02",
    affected_users: "40",
  };
  const pending = await propose({ ...text, target: "limits.pending", risk: "high", reversible: "false" });
  await post("api/product/approve", { change_id: pending, approver: "bo", note: LONG.slice(0, 4000) });
  const applied = await propose({ ...text, target: "limits.applied" });
  await post("api/product/approve", { change_id: applied, approver: "bo", note: IMAGE });
  await post("api/product/apply", { change_id: applied });
  await post("api/product/kpi", { nrr_quarterly: "1.01", incident_rate: "0.05" });
  const denied = await propose({ ...text, target: "limits.denied" });
  await post("api/product/deny", { change_id: denied, approver: "bo", note: LONG.slice(0, 4000) });
  writeFileSync(config, "{}");
  await post("api/action/run-now", { action: "check_drift" });
  await post("api/action/run-now", { action: "write_report" });
  await post("api/tasks", { title: IMAGE, description: LONG.slice(0, 8000), required_dimension: IMAGE });
  await post("api/chat", { message: LONG.slice(0, 8000), author: `eve ${IMAGE}` });
  return { pending, applied, denied };
}
