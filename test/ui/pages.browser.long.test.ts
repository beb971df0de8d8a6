/** Each page of the console, on a service with a history. */
import { exec } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { DAY_MS } from "../../lib/kit/days.ts";
import { provider } from "../lib/chat/model_server.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;
let history: { better: string; worse: string; ready: string; shared: string };

describe.skipIf(!browser)("pages of the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService({ env: CLOCK_IN_THE_PAST });
    history = await createHistory(service);
  });

  const part = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

  test("the inbox lists what needs attention, the most urgent first, each in one sentence", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "");
    expect(await page.locator("main h2").allInnerTexts()).toEqual([
      "Waits for you",
      "Approved, not applied",
      "Needs attention",
    ]);
    await part(page, "Needs attention").getByText("limits.flow (t1) was changed outside Countersign").waitFor();
    const waiting = part(page, "Waits for you").locator("a[data-row]");
    const ids = await waiting.evaluateAll((rows) => rows.map((row) => row.getAttribute("href")!.split("/").at(-1)!));
    const { waiting_for_you } = await service.get("api/inbox?person=ana");
    expect(ids).toEqual(waiting_for_you.items.map(({ change_id }: { change_id: string }) => change_id));
    expect(ids).not.toContain(history.shared);
    expect(ids.length).toBeGreaterThan(1);
    const first = part(page, "Waits for you").getByRole("listitem").filter({ hasText: "limits.first" });
    expect(await first.locator(".row-words").innerText()).toBe(
      "pat asks to change limits.first for tenant t1; 40 people are affected; it can be undone.",
    );
    expect(await part(page, "Waits for you").innerText()).toContain("whether it can be undone was not stated");
    expect(await page.getByRole("link", { name: /^\d+ more waits? for others$/ }).count()).toBe(1);
    expect(await part(page, "Approved, not applied").innerText()).toContain("limits.ready");
    // A KPI that got worse links to its chart and blames no change.
    const concern = part(page, "Needs attention").getByRole("link", { name: "Incident rate has got worse" });
    expect(await concern.getAttribute("href")).toBe("#/kpis?kpi=incident_rate");
    await concern.click();
    await page.getByRole("img", { name: "Incident rate over time" }).waitFor();
    await page.getByText("Before it, newest first:").waitFor();
    const unnamed = await open({ name: "", token: TOKEN });
    await visit(unnamed, service.url, "");
    const lead = await unnamed
      .locator("main")
      .getByText(/changes wait for/)
      .innerText();
    expect(lead, 'without a name the lead says no "your"').toMatch(/^\d+ changes wait for consent\.$/);
  });

  test("the page of a change shows the difference, the people affected and the effect", async () => {
    const page = await open(ANA);
    await visit(page, service.url, `changes/${history.worse}`);
    const changesPanel = part(page, "Changes");
    await changesPanel.getByText("Against what the change before it set:").waitFor();
    expect(await changesPanel.locator(".diff .before code").allInnerTexts()).toEqual(["10"]);
    expect(await changesPanel.locator(".diff .after code").allInnerTexts()).toEqual(["25"]);
    const facts = await page.getByRole("list", { name: "Facts" }).innerText();
    for (const fact of ["40 people", "Undo: possible", "Risk: medium", "standard, 1 approval"])
      expect(facts).toContain(fact);
    const impact = part(page, "Impact");
    await impact.locator(".plot .series").waitFor();
    expect(await impact.innerText()).toMatch(/expects \+0\.01 on incident rate/);
    expect(await impact.innerText()).toMatch(/Regressed[^]*expected to fall by 0\.01, it rose by 0\.005 \(worse\)/);
    const legend = await impact.locator(".legend > li").allInnerTexts();
    expect(legend.map((line) => line.trim().replace(/ \d+ \w+ \d{4}, [\d:]+$/, ""))).toEqual([
      "At the apply 0.04",
      "Expected 0.03",
      "Guardrail, alerts 0.06",
      "Applied",
      "Rolled back",
    ]);
    const earlier = impact.getByRole("row").filter({ hasText: "Ten at a time" });
    expect(await earlier.innerText()).toMatch(/\+0\.01\s+\+0\.01\s+Met/);
  });

  test("the results of peers with a similar change are shown with the expected effect", async () => {
    const secret = { SVC_CROSS_LINK_SECRET: "a secret of the tests, long enough" };
    const args = ["--agent-id=far", "--cross-link-port=0"];
    const far = await startService({ args, env: { ...secret, ...CLOCK_IN_THE_PAST } });
    const { address } = JSON.parse(far.server.stderr.find((line) => line.includes('"link open"'))!);
    await applyBetweenFeeds(far, { target: "limits.flow", kpi: "incident_rate", expected_delta_k: "0.01" }, [
      "0.04",
      "0.03",
    ]);
    // Two steps bring its clock to the present.
    await passHorizon(far);
    await passHorizon(far);
    await far.post("api/action/run-now", { action: "cycle" });
    const near = await startService({ args: ["--agent-id=near", `--cross-link-peers=${address}`], env: secret });
    while (!near.server.stderr.some((line) => line.includes('"link up"')))
      await once(near.server.child.stderr!, "data");
    await near.post("api/action/run-now", { action: "sync_peers" });
    const id = await near.propose({ target: "limits.flow", kpi: "incident_rate", expected_delta_k: "0.02" });
    const page = await open(ANA);
    await visit(page, near.url, `changes/${id}`);
    await page
      .getByText(
        "Peers: 1 change on this target gave +0.01 on average (1 met; weighed by trust, as much as 1 of equal trust).",
      )
      .waitFor();
    await visit(page, near.url, "settings");
    await part(page, "Peers").getByText("acme-crm@far").waitFor();
    expect(await part(page, "Peers").innerText()).toMatch(/Up/);
  });

  test("the form predicts the policy's decision, and the service decides the same", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "propose");
    const panel = part(page, "What the policy will say");
    await page.getByLabel("Tenant").fill("t9");
    await page.getByLabel("Target").fill("billing.rates");
    await page.getByLabel("Summary").fill("Cheaper");
    await panel.getByText("billing.rates is under the intent's forbidden_targets").waitFor();
    await button(page, "Propose").click();
    await page.getByText("is under the intent's forbidden_targets").nth(1).waitFor();
    await page.getByLabel("Target").fill("ui.banner");
    await page.getByLabel("People affected").fill("20");
    await page.getByLabel("Can it be undone?").selectOption("true");
    await page.getByLabel("Risk").selectOption("low");
    await page.getByLabel("Tier").selectOption("minor");
    await panel.getByText("approved by the intent itself").waitFor();
    await page.getByLabel("New value").fill("{");
    await page.getByText(/Line 1, column \d+/).waitFor();
    await page.getByLabel("New value").fill("true");
    await button(page, "Propose").click();
    await page.getByRole("alert").getByText("Approved, not applied").waitFor();
  });

  test("the form of each kind sends what was typed", async () => {
    const page = await open(ANA);
    const forms: [kind: string, label: string, typed: string, value: unknown][] = [
      ["Config", "New value", '{ "max": 25 }', { max: 25 }],
      ["Feature flag", "New value", "false", false],
      ["Workflow", "New value", '{ "after_days": 3 }', { after_days: 3 }],
      ["Code patch", "Patch", "@@ -1 +1 @@\n-a\n+b", { patch: "@@ -1 +1 @@\n-a\n+b" }],
      [
        "Experiment",
        "New value",
        '{"variants":{"control":80,"treatment":20}}',
        { variants: { control: 80, treatment: 20 } },
      ],
    ];
    await visit(page, service.url, "propose");
    await page.getByLabel("Tenant").fill("forms");
    for (const [kind, label, typed, value] of forms) {
      await page.getByRole("radio", { name: kind }).check();
      await page.getByLabel("Target").fill(`forms.${kind.split(" ")[0]!.toLowerCase()}`);
      await page.getByLabel("Summary").fill(`A ${kind}`);
      const field = page.getByLabel(label, { exact: true });
      // The JSON of the kind before is in a text field; an empty or boolean value has a choice of `on` and `off` instead.
      // "another value…" leads back to the text field. After a reload the stored draft `false` has the choice again.
      if (kind === "Feature flag") {
        await field.fill("");
        await field.selectOption("another value…");
        await field.fill("false");
        await page.reload();
      }
      await (kind === "Feature flag" ? field.selectOption("off") : field.fill(typed));
      const [answer] = await Promise.all([
        page.waitForResponse("**/api/product/propose"),
        button(page, "Propose").click(),
      ]);
      expect(await answer.json(), kind).toMatchObject({ status: "pending_consent", value, proposer: "ana" });
    }
    await page.getByRole("link", { name: "Open the change" }).click();
    await page.getByText(/run an experiment on\s+forms\.experiment/).waitFor();
  });

  test("the selected KPI is drawn, and a KPI feed is saved after its wrong figure is removed", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "kpis");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await page.getByRole("link", { name: "Incident rate" }).click();
    await page.getByRole("heading", { name: "Incident rate" }).waitFor();
    await page.getByRole("img", { name: "Incident rate over time" }).locator(".series").waitFor();
    expect(page.url()).toContain("kpi=incident_rate");
    // The legend names every apply of the period and blames no change.
    const legend = page.locator(".legend .apply");
    await legend.getByRole("link").first().waitFor();
    const { rows } = await service.get("api/find?q=applied:%3E2000-01-01");
    const links = await legend
      .getByRole("link")
      .evaluateAll((anchors) => anchors.map((anchor) => anchor.getAttribute("href")!));
    expect(links.length).toBeGreaterThan(2);
    expect(rows.map(({ change_id }: { change_id: string }) => `#/changes/${change_id}`)).toEqual(
      expect.arrayContaining(links),
    );
    await page.getByText(/^Incident rate went from .* Before it, newest first:$/).waitFor();
    await page.getByText("it does not show that a change caused the move").waitFor();
    await page.keyboard.press("f");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("NRR quarterly").fill("1.06");
    await dialog.getByLabel("Incident rate").fill("NaN");
    await button(page, "Save as ana").click();
    await dialog.locator("small.error").waitFor();
    await dialog.getByLabel("Incident rate").fill("");
    await button(page, "Save as ana").click();
    await row("NRR quarterly").first().getByText("1.06").waitFor();
    const outcome = row("Regressed").filter({ hasText: "25 at a time" });
    expect(await outcome.innerText()).toMatch(/\+0\.01\s+−0\.005\s+Regressed\s+\(final/);
  });

  test("a reply names its memories, and a model's draft is a card with a link to the change", async () => {
    const input = {
      tenant_id: "t1",
      kind: "config",
      target: "limits.drafted",
      summary: "Fewer limits",
      rationale: "Asked.",
    };
    const model = await provider(({ body: { messages } }) => {
      const { role, content } = messages.at(-1);
      const isDraftRequest = role === "user" && JSON.stringify(content).includes("Draft fewer limits");
      return isDraftRequest ? { tools: [{ name: "draft_change", input }] } : { text: "Done." };
    });
    const withModel = await startService({ args: [`--llm=${model.url}`, "--llm-model=m1"] });
    const remembered = "Remember: the turquoise banner was for the spring campaign.";
    await withModel.post("api/chat", { message: remembered, author: "ana" });
    const page = await open(ANA);
    await visit(page, withModel.url, "settings");
    await page.keyboard.press("/");
    await page.keyboard.type("Draft fewer limits, and a turquoise banner.");
    await button(page, "Ask the service").click();
    await page.getByText(/^\d memor(y was|ies were) used$/).click();
    await page.getByRole("group").getByText("turquoise").first().waitFor();
    const card = page.locator("article.draft");
    expect(await card.innerText()).toMatch(/Drafted change\s+Fewer limits\s+Asked\./);
    await card.getByRole("button", { name: "Store as a proposal" }).click();
    await card.getByRole("link", { name: "Read it and decide" }).click();
    await page.getByText(/^The model m1, asked by ana, asks to change\s+limits\.drafted/).waitFor();
  });

  test("the settings show which parts work, four figures with reasons, and reports", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    const figures = await part(page, "Figures").innerText();
    for (const reason of [
      /Effect: \d+%[^]*NRR quarterly is \d+% of the way/,
      /Memory[^]*things that should be on record/,
      /Reliability[^]*\d of \d applies failed in 30 days/,
      /Need[^]*open items? (is|are) overdue/,
    ])
      expect(figures).toMatch(reason);
    await part(page, "Health").getByText("parts work").click();
    expect(await part(page, "Health").innerText()).toMatch(/Available\s+Product adapter/);
    await part(page, "Health").getByText("parts are off").click();
    expect(await part(page, "Health").innerText()).toMatch(/--identity-jwt FILE or --identity-header NAME/);
    await button(page, "Write report").click();
    await page.locator(".history").getByText("Write report").first().waitFor();
    await page.locator(".files summary").first().click();
    await page.locator(".files pre").waitFor();
  });

  test("before the first change the inbox offers a command to copy, and the command works", async () => {
    const empty = await startService();
    const page = await open(ANA);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await visit(page, empty.url, "");
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied").waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const run = promisify(exec)(`${command} -sS`, { env: { ...process.env, SVC_ADMIN_TOKEN: TOKEN } });
    expect(JSON.parse((await run).stdout)).toMatchObject({ status: "pending_consent", tenant_id: "t1" });
    await page.getByText("you asks to change ui.banner for tenant t1").waitFor();
  });

  test("an approver sees missing fields before deciding, and keys before values in any script", async () => {
    const page = await open(ANA);
    const propose = (fields: Record<string, string>) =>
      service.post("api/product/propose", {
        tenant_id: "t1",
        kind: "config",
        proposer: "زينب@acme",
        summary: "Doubtful",
        ...fields,
      });
    const bare = await propose({ target: "limits.bare" });
    await visit(page, service.url, `changes/${bare.change_id}`);
    const empty = "No value set. Applying it won't change limits.bare.";
    await page.getByRole("article").getByText(empty).waitFor();
    expect(await page.getByRole("article").getByText("Not stated:").count(), "the facts name the unstated fields").toBe(
      0,
    );
    await button(page, "Approve…").click();
    for (const text of [empty, "Not stated: the risk."]) await page.getByRole("dialog").getByText(text).waitFor();
    await button(page, "Cancel").click();
    const facts = await page.getByRole("list", { name: "Facts" }).innerText();
    for (const fact of ["People affected", "Undo", "Risk"]) expect(facts).toContain(`${fact}: not stated`);
    expect(await page.locator("main").innerText()).not.toMatch(/can be undone[.;]/);

    const turned = await propose({ target: "limits.turned", value: '{"مرحبا":"עברית abc"}' });
    await visit(page, service.url, `changes/${turned.change_id}`);
    const leftOf = (text: string): Promise<number> =>
      page
        .locator(".diff, pre")
        .getByText(text, { exact: true })
        .first()
        .evaluate((element) => element.getBoundingClientRect().left);
    expect(await leftOf('"مرحبا"')).toBeLessThan(await leftOf('"עברית abc"'));
    expect(await page.locator("h1 bdi").first().getAttribute("dir")).toBe("ltr");

    const value = JSON.stringify({ patch: "@@ -1 +1 @@\n-old\n+new" });
    const patch = await propose({ kind: "code_patch", target: "pricing/rounding", value });
    await visit(page, service.url, `changes/${patch.change_id}`);
    await page.getByText("The host product was asked").waitFor();
    expect(await page.locator("main pre, main .diff").count(), "a patch is shown once").toBe(1);

    await visit(page, service.url, "propose");
    await page.getByLabel("Target").fill("ui.banner");
    await page.getByText("No value set. Applying it won't change ui.banner.").waitFor();
  });

  test("an unknown change is reported, and an unknown page links to the inbox", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "changes/chg_nothing");
    await page.getByText("There is no change").waitFor();
    await visit(page, service.url, "elsewhere");
    await page.getByRole("link", { name: "Go to the inbox" }).click();
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
  });
});

/** The clock of a service that starts 16 days ago: each of two verdicts needs a week after its apply (see shifted_clock.mjs). */
const CLOCK_IN_THE_PAST = {
  NODE_OPTIONS: `--import ${new URL("shifted_clock.mjs", import.meta.url)}`,
  CLOCK_OFFSET_MS: String(-16 * DAY_MS),
  CLOCK_STEP_MS: String(8 * DAY_MS),
};

/** Moves the clock of such a service by a step of 8 days, past the horizon of its applied changes. */
async function passHorizon({ server, get }: Service): Promise<void> {
  const now = async () => Date.parse((await get("api/state")).as_of);
  const before = await now();
  server.child.kill("SIGUSR2");
  await vi.waitFor(async () => expect((await now()) - before).toBeGreaterThan(7 * DAY_MS));
}

/** Applies a change between two feeds of `incident_rate`; returns its id. */
async function applyBetweenFeeds(
  { post, propose }: Service,
  fields: Record<string, string>,
  feeds: [string, string],
): Promise<string> {
  await post("api/product/kpi", { incident_rate: feeds[0] });
  const change_id = await propose(fields);
  await post("api/product/approve", { change_id, approver: "bo", note: "Go." });
  await post("api/product/apply", { change_id });
  await post("api/product/kpi", { incident_rate: feeds[1] });
  return change_id;
}

/**
 * Creates a history: an applied change that helped, one that got worse and was rolled back, one without a verdict yet, one to
 * apply, and three that wait for consent, `limits.shared` no longer for ana. The emptied config file is a drift.
 */
async function createHistory(service: Service): Promise<typeof history> {
  const { post, propose, config } = service;
  await post("api/product/kpi", { nrr_quarterly: "1.02" });
  const flow = {
    target: "limits.flow",
    reversible: "true",
    risk: "medium",
    kpi: "incident_rate",
    expected_delta_k: "0.01",
  };
  const better = await applyBetweenFeeds(service, { ...flow, value: "10", summary: "Ten at a time" }, ["0.05", "0.04"]);
  await passHorizon(service);
  const worse = await applyBetweenFeeds(service, { ...flow, value: "25", summary: "25 at a time" }, ["0.04", "0.045"]);
  await passHorizon(service);
  await post("api/product/rollback", { change_id: worse });
  await post("api/product/kpi", { incident_rate: "0.04", nrr_quarterly: "1.02" });
  writeFileSync(config, "{}");
  // A cycle that a feed requested may be reading the host product at the same time.
  await vi.waitFor(async () => {
    expect((await post("api/action/run-now", { action: "check_drift" })).result.in_sync).toBe(false);
  });
  await applyBetweenFeeds(service, { ...flow, target: "limits.open" }, ["0.05", "0.04"]);
  const ready = await propose({ target: "limits.ready" });
  await post("api/product/approve", { change_id: ready, approver: "cy" });
  await propose({ target: "limits.first", reversible: "true" });
  const shared = await propose({ target: "limits.shared", risk: "high" });
  await post("api/product/approve", { change_id: shared, approver: "ana" });
  await propose({ target: "limits.last" });
  return { better, worse, ready, shared };
}
