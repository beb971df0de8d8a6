/** Decisions on a change in the console, in browser windows on a running service. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { inLong, inShort } from "../support/run_length.ts";
import { findSerious } from "./axe.ts";
import { button, freshness, showReasons, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("decisions in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
  });

  const changePath = (id: string): string => `changes/${id}`;
  const readEntries = async (id: string) => (await service.get(`api/product/audit?change_id=${id}`)).entries;
  const listEventTypes = async (id: string): Promise<string[]> =>
    (await readEntries(id)).map((entry: { event_type: string }) => entry.event_type);
  const status = (page: Page) => page.locator(".change-head .mark");
  const decide = async (page: Page, action: string, name: string, note = "") => {
    await button(page, `${action}…`).click();
    if (note) await page.getByLabel("Note").fill(note);
    await button(page, `${action} ${name === "" ? "now" : `as ${name}`}`).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };

  inShort(test)("two approvers take a change from proposal to rollback and see each other's decisions", async () => {
    const ana = await open();
    await visit(ana, service.url, "propose");
    await ana.getByRole("button", { name: "You Set your name" }).click();
    await ana.getByLabel("Your name").fill("ana");
    await ana.getByLabel("Admin token").fill(TOKEN);
    await button(ana, "Save").click();
    const bo = await open({ name: "bo", token: TOKEN });
    await visit(bo, service.url, "");
    await freshness(bo, "Live").waitFor();

    await ana.getByLabel("Target").fill("limits.seats");
    await ana.getByLabel("Tenant").fill("northwind");
    await ana.getByLabel("Summary").fill("Forty more seats");
    await ana.getByLabel("New value").fill('{ "seats": 40 }');
    // High risk makes the change major, so it needs two consents.
    await ana.getByLabel("Risk").selectOption("high");
    await ana.getByLabel("People affected").fill("40");
    await ana.getByLabel("Proposer").fill("pat");
    await button(ana, "Propose").click();
    await ana.getByRole("link", { name: "Open the change" }).click();
    await status(ana).getByText("Waits for consent").waitFor();
    const id = decodeURIComponent(ana.url().split("/changes/")[1]!);

    // Without a reload: the inbox of the other window follows the service.
    const row = bo.getByRole("link", { name: "Forty more seats" });
    await row.waitFor();

    await decide(ana, "Approve", "ana", "Fits the contract.");
    await ana.getByText("Receipt: entry").waitFor();
    await showReasons(ana);
    await ana.getByText("ana has approved this change already.").waitFor();
    await row.click();
    await bo.getByText("Fits the contract.", { exact: true }).waitFor();
    await decide(bo, "Approve", "bo");
    await status(ana).getByText("Approved, not applied").waitFor();

    await button(ana, "Apply…").click();
    await ana.getByRole("dialog").getByText("Nothing was changed.").waitFor();
    expect(await ana.getByRole("dialog").locator(".diff").innerText()).toContain('"seats": 40');
    expect(() => readFileSync(service.config), "the dry run sets nothing").toThrow("ENOENT");
    await button(ana, "Apply as ana").click();
    await status(bo).getByText("Applied", { exact: true }).waitFor();
    expect(JSON.parse(readFileSync(service.config, "utf8")).values.northwind["limits.seats"]).toEqual({ seats: 40 });

    await button(bo, "Roll back…").click();
    await bo.getByRole("dialog").getByText("limits.seats had no value before.").waitFor();
    expect(JSON.parse(readFileSync(service.config, "utf8")).values.northwind["limits.seats"]).toEqual({ seats: 40 });
    await bo.getByLabel("Note").fill("As agreed.");
    await button(bo, "Roll back as bo").click();
    await status(ana).getByText("Rolled back").waitFor();
    expect(JSON.parse(readFileSync(service.config, "utf8")).values.northwind?.["limits.seats"]).toBeUndefined();
    expect(await listEventTypes(id)).toEqual([
      "change_proposed", "consent_decision", "consent_decision", "change_applied", "change_rolled_back",
    ]); // prettier-ignore
    await ana.getByText("all 5 hashes match their entries").waitFor();
    const steps = await ana.locator(".timeline > li").allInnerTexts();
    expect(steps.map((step) => step.split("\n")[0])).toEqual([
      "Proposed by pat as a major change.",
      "Approved by ana, 1 of 2 consents.",
      "Approved by bo, 2 of 2 consents.",
      "Applied by ana; the file adapter reports applied.",
      "Rolled back by bo; the file adapter reports rolled back.",
    ]);
  });

  inLong(test)("an open dialog says that the change was decided meanwhile, and sends nothing", async () => {
    const id = await service.propose();
    const ana = await open({ name: "ana", token: TOKEN });
    await ana.clock.install();
    await visit(ana, service.url, changePath(id));
    await button(ana, "Approve…").click();
    await service.post("api/product/deny", { change_id: id, approver: "bo", note: "Too early." });
    const dialog = ana.getByRole("dialog");
    await dialog.getByText("Changed since you opened it.").waitFor();
    expect(await dialog.innerText()).toContain("Denied by bo");
    await ana.clock.runFor(10_000);
    await ana.evaluate(() => fetch("api/state").then((response) => response.text()));
    expect(await status(ana).innerText(), "the page behind the dialog is not updated").toBe("Waits for consent");
    expect(await button(ana, "Approve as ana").count()).toBe(0);
    await button(ana, "Close and look again").click();
    await ana.clock.runFor(10_000);
    await status(ana).getByText("Denied").waitFor();
    expect(await listEventTypes(id)).toEqual(["change_proposed", "consent_decision"]);
  });

  inLong(test)("the rollback dialog shows the restored value, or the later change of the target", async () => {
    const applyValue = async (value: string): Promise<string> => {
      const change_id = await service.propose({ target: "limits.exports", value });
      await service.post("api/product/approve", { change_id, approver: "bo" });
      await service.post("api/product/apply", { change_id });
      return change_id;
    };
    const first = await applyValue("10");
    const second = await applyValue("20");
    const ana = await open({ name: "ana", token: TOKEN });
    const dialog = ana.getByRole("dialog");

    await visit(ana, service.url, changePath(second));
    await button(ana, "Roll back…").click();
    await dialog.getByText("The host product has this change's value now.").waitFor();
    await dialog.getByText("limits.exports had the value that Raise the limit by pat set.").waitFor();
    expect((await dialog.locator(".diff .line").allInnerTexts()).map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
      "− removed: 20",
      "+ added: 10",
    ]);
    expect(await findSerious(ana, "rollback")).toEqual([]);
    await button(ana, "Cancel").click();

    await visit(ana, service.url, changePath(first));
    await button(ana, "Roll back…").click();
    await dialog.getByText("only the record of this change is rolled back").waitFor();
    expect(await findSerious(ana, "superseded")).toEqual([]);
    await dialog.getByRole("link", { name: "a later change" }).click();
    await ana.waitForURL(`**/#/${changePath(second)}`);
    await dialog.waitFor({ state: "detached" });
    expect(await listEventTypes(first), "nothing was rolled back").not.toContain("change_rolled_back");

    // The service reports a digest that does not match any value known to the page.
    await ana.route("**/api/product/rollback", async (route) => {
      const answer = await (await route.fetch()).json();
      const preview = { ...answer.adapter.preview, previous_digest: "0".repeat(64) };
      await route.fulfill({ json: { ...answer, adapter: { ...answer.adapter, preview } } });
    });
    await button(ana, "Roll back…").click();
    await dialog.getByText("a value that this page cannot show").waitFor();
  });

  inLong(test)("the service rejects a decision on an outdated revision", async () => {
    const id = await service.propose({ risk: "high" });
    const ana = await open({ name: "ana", token: TOKEN });
    // The page gets no events and does not poll, so that it shows the outdated revision.
    for (const path of ["**/api/events", "**/api/product/identity"]) await ana.route(path, (route) => route.abort());
    await visit(ana, service.url, changePath(id));
    await button(ana, "Approve…").click();
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    const [request] = await Promise.all([
      ana.waitForRequest("**/api/product/approve"),
      button(ana, "Approve as ana").click(),
    ]);
    expect(request.headers()).toMatchObject({ "if-match": '"1"', "x-svc-admin-token": TOKEN });
    expect(request.headers()["idempotency-key"]).toMatch(/^[0-9a-f]{32}$/);
    await ana.getByRole("dialog").getByText("Changed since you opened it.").waitFor();
    expect(await listEventTypes(id), "the consent of ana is not recorded").toHaveLength(2);
  });

  inLong(test)("an action that is not allowed is shown with its reason", async () => {
    const id = await service.propose({ risk: "high" });
    const eve = await open({ name: "eve", token: TOKEN });
    await visit(eve, service.url, changePath(id));
    const bar = eve.getByRole("region", { name: "Decision" });
    expect(await bar.getByRole("button").count(), "nothing is offered to an outsider").toBe(0);
    expect(await bar.innerText(), "the reasons are folded").not.toContain("0 of 2 consents");
    await showReasons(eve);
    await bar.getByText("It can be approved by ana or bo or cy.").waitFor();
    expect(await bar.innerText()).toMatch(/Can't apply yet\W+0 of 2 consents/);

    // A page that wrongly offers the approval shows the service's error message.
    await eve.route(`**/changes/${id}?*`, async (route) => {
      const body = await (await route.fetch()).json();
      const may = body.status === "pending_consent" ? ["approve"] : [];
      await route.fulfill({ json: { ...body, caller: { ...body.caller, may } } });
    });
    await eve.reload();
    await button(eve, "Approve…").click();
    await button(eve, "Approve as eve").click();
    await eve.getByRole("dialog").getByText("eve is not among the intent's approvers").waitFor();
    await button(eve, "Cancel").click();
    expect(await bar.innerText()).toContain("Approve was refused");

    await service.post("api/product/deny", { change_id: id, approver: "bo", note: "No <b>need</b>." });
    await status(eve).getByText("Denied").waitFor();
    expect(await bar.getByRole("button").count()).toBe(0);
    await eve.getByText("No <b>need</b>.", { exact: true }).waitFor();
  });

  inLong(test)("one denial is final, and its note stays on the change's page", async () => {
    const id = await service.propose({ risk: "high" });
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, changePath(id));
    await decide(ana, "Deny", "ana", "The <i>storage</i> bill doubles.");
    await status(ana).getByText("Denied", { exact: true }).waitFor();
    await ana.getByText("The <i>storage</i> bill doubles.", { exact: true }).waitFor();
    expect(await ana.locator(".timeline > li").last().innerText()).toContain("Denied by ana.");
    expect(await ana.getByRole("region", { name: "Decision" }).getByRole("button").count()).toBe(0);
    const { status: now, approver, approval_note } = await service.get(`api/product/changes/${id}`);
    expect([now, approver, approval_note]).toEqual(["denied", "ana", "The <i>storage</i> bill doubles."]);
  });

  inLong(test)("the proposer can withdraw a proposal", async () => {
    const id = await service.propose();
    const pat = await open({ name: "pat", token: TOKEN });
    await visit(pat, service.url, changePath(id));
    await decide(pat, "Withdraw", "pat");
    await status(pat).getByText("Withdrawn").waitFor();
    expect(await service.get(`api/product/changes/${id}`)).toMatchObject({ status: "denied", resolution: "withdrawn" });
  });

  inLong(test)("the JSON on the page is the service's record of the change", async () => {
    const id = await service.propose();
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, changePath(id));
    await ana.getByText("For programs").click();
    const raw = await ana.getByRole("region", { name: "The change as JSON" }).innerText();
    expect(JSON.parse(raw)).toEqual(await service.get(`api/product/changes/${id}?person=ana`));
  });

  inLong(test)("the dialog asks for a missing token and stores it for the tab, never in the address", async () => {
    const id = await service.propose();
    const ana = await open({ name: "ana" });
    await visit(ana, service.url, changePath(id));
    await button(ana, "Approve…").click();
    await button(ana, "Approve as ana").click();
    const dialog = ana.getByRole("dialog");
    await dialog.getByText("needs the header X-Svc-Admin-Token").waitFor();
    await ana.waitForFunction(() => document.activeElement?.matches('[type="password"]'));
    await ana.keyboard.type(TOKEN);
    await ana.keyboard.press("Enter");
    await status(ana).getByText("Approved, not applied").waitFor();
    expect(
      await ana.evaluate(() => [sessionStorage.getItem("countersign.token"), JSON.stringify(localStorage)]),
    ).toEqual([TOKEN, expect.not.stringContaining(TOKEN)]);
    expect(ana.url()).not.toContain(TOKEN);
  });

  inLong(test)("a decision that is repeated after a lost response is recorded once", async () => {
    const id = await service.propose({ risk: "high" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, changePath(id));
    let requests = 0;
    await ana.route("**/api/product/approve", async (route) => {
      if (requests++ > 0) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await button(ana, "Approve…").click();
    await button(ana, "Approve as ana").click();
    const dialog = ana.getByRole("dialog");
    await dialog.getByText("It may have arrived.").waitFor();
    await button(ana, "Approve as ana").click();
    await dialog.waitFor({ state: "detached" });
    await ana.getByText("Your consent is recorded.").waitFor();
    expect(await ana.evaluate(() => document.activeElement?.tagName), "the pressed button is gone").toBe("H1");
    await showReasons(ana);
    await ana.getByText("ana has approved this change already").waitFor();
    expect(await listEventTypes(id)).toEqual(["change_proposed", "consent_decision"]);
  });

  inLong(test)("during an outage the page says so and keeps its content, then it updates itself", async () => {
    const id = await service.propose({ target: "limits.restart" });
    const page = await open({ name: "ana", token: TOKEN });
    await visit(page, service.url, changePath(id));
    await freshness(page, "Live").waitFor();
    // Opening the dialog once loads its code.
    await button(page, "Approve…").click();
    await button(page, "Cancel").click();
    service.server.child.kill("SIGTERM");
    await service.server.ended;
    await freshness(page, "Offline since").waitFor();
    await button(page, "Approve…").click();
    await button(page, "Approve as ana").click();
    await page.getByRole("dialog").getByText("The service cannot be reached.").waitFor();
    await button(page, "Cancel").click();
    expect(await status(page).innerText()).toBe("Waits for consent");
    const probe = page.waitForResponse((answer) => answer.url() === `${service.url}/`);
    service = await startService({ before: service });
    await freshness(page, "Live").waitFor();
    expect((await probe).status()).toBe(200);
    await service.post("api/product/deny", { change_id: id, approver: "bo" });
    await status(page).getByText("Denied").waitFor();
    expect(await page.getByText("The service was upgraded").count(), "the build is the same").toBe(0);
  });

  inLong(test)("the inbox counts the changes that wait for the reader, and links to the others", async () => {
    const full = await startService();
    // The intent allows no self-approval.
    for (let nth = 0; nth < 40; nth++) await full.propose({ target: `limits.n${nth}`, proposer: "ana" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, full.url, "");
    await ana.getByText("Nothing waits for your consent.").waitFor();
    await full.propose({ target: "limits.last" });
    await ana.getByText("1 change waits for your consent.").waitFor();
    expect(await ana.getByRole("region", { name: "Waits for you" }).locator("a[data-row]").count()).toBe(1);
    await ana.getByRole("link", { name: "40 more wait for others" }).click();
    await ana.getByText("41 changes match.").waitFor();
  });
});
