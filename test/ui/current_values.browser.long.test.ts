/** The host product's value before a consent, drift and its actions, and proposals that supersede others. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { PROPOSAL, type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("current values, drift and superseding proposals", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
  });

  const changePath = (id: string): string => `changes/${id}`;
  const diff = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
  const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true });
  const status = (page: Page) => page.locator(".change-head .mark").first();
  const readLogLength = async (): Promise<number> => (await service.get("api/product/audit?limit=1")).length;
  const applyChange = async (fields: Record<string, string>): Promise<string> => {
    const change_id = await service.propose(fields);
    await service.post("api/product/approve", { change_id, approver: "ana" });
    await service.post("api/product/apply", { change_id });
    return change_id;
  };
  /** Changes the host product's value outside the service. */
  const setByHand = (target: string, value: unknown): void => {
    const config = JSON.parse(readFileSync(service.config, "utf8"));
    config.values.t1[target] = value;
    writeFileSync(service.config, JSON.stringify(config));
  };
  const checkDrift = () => service.post("api/action/run-now", { action: "check_drift" });

  test("before a consent the page shows the host product's current value and its age", async () => {
    await applyChange({ target: "limits.a", value: "10" });
    setByHand("limits.a", 17);
    const id = await service.propose({ target: "limits.a", summary: "Twenty-five", value: "25" });
    const length = await readLogLength();
    const ana = await open({ name: "ana", token: TOKEN });
    const postsWithKey: string[] = [];
    ana.on("request", (request) => {
      const key = request.headers()["idempotency-key"];
      if (request.method() === "POST" && key) postsWithKey.push(request.url());
    });
    await visit(ana, service.url, changePath(id));
    const shown = diff(ana, "What the host product holds, and would hold");
    await shown.waitFor();
    expect(await shown.innerText()).toMatch(/17[\s\S]*25/);
    await ana.getByText("The host product was asked just now, and nothing was changed.").waitFor();
    await ana.getByText("it was changed elsewhere").waitFor();
    setByHand("limits.a", 25);
    await button(ana, "Ask again").click();
    await ana.getByText("holds this already").waitFor();
    expect(await readLogLength(), "a dry run writes no entry").toBe(length);
    expect(postsWithKey, "a dry run stores no answer").toEqual([]);
    expect(await findSerious(ana, "change")).toEqual([]);
  });

  test("without the token the page shows the value that the service set last", async () => {
    await applyChange({ target: "limits.b", value: "10" });
    const id = await service.propose({ target: "limits.b", value: "25" });
    const guest = await open({ name: "ana" });
    await visit(guest, service.url, changePath(id));
    await guest.getByText("Only people who may apply can see the host product's value.").waitFor();
    expect(await diff(guest, "Before and after").innerText()).toMatch(/10[\s\S]*25/);
    await button(guest, "Ask the host product").click();
    await guest.getByText("Enter the token under “You” and try again.").waitFor();
    await guest.getByRole("button", { name: "You ana" }).click();
    await guest.getByLabel("Admin token").fill(TOKEN);
    await button(guest, "Save").click();
    await diff(guest, "What the host product holds, and would hold").waitFor();
    await guest.getByText("Enter the token").waitFor({ state: "detached" });
  });

  test("a host product that does not answer does not block a consent", async () => {
    const id = await service.propose({ target: "limits.c", value: "25" });
    const ana = await open({ name: "ana", token: TOKEN });
    // The page asks for the current value with a dry run of an apply, which is never answered here.
    await ana.route("**/api/product/apply", () => {});
    await ana.goto(new URL(`/#/${changePath(id)}`, service.url).href);
    await ana.getByText("Asking the host product…").waitFor();
    await diff(ana, "Before and after").waitFor();
    await button(ana, "Approve…").click();
    await button(ana, "Approve as ana").click();
    await status(ana).getByText("Approved, not applied").waitFor();
  });

  test("other changes of the target are named by title and person, never by id", async () => {
    await service.propose({ target: "limits.d", summary: "The other one", proposer: "pia" });
    await service.propose({ target: "limits.d", tenant_id: "t2", summary: "Another tenant's" });
    const id = await service.propose({ target: "limits.d", summary: "This one" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, changePath(id));
    const gate = ana.locator(".gates li").filter({ hasText: "Target conflict" });
    await gate.getByRole("link", { name: "The other one" }).waitFor();
    expect(await gate.innerText()).toContain("by pia");
    expect(await ana.locator(".gates, .panel ul").allInnerTexts()).not.toContainEqual(expect.stringContaining("chg_"));
    await visit(ana, service.url, "");
    await ana.getByText("1 other live change on this target").first().waitFor();
    expect(await ana.locator("main").innerText()).not.toContain("chg_");

    await visit(ana, service.url, "propose");
    await ana.getByLabel("Target").fill("LIMITS.d");
    await ana.getByLabel("Tenant").fill("t2");
    await link(ana, "Another tenant's").waitFor();
    expect(await link(ana, "The other one").count()).toBe(0);
    await ana.getByLabel("Tenant").fill("t3");
    await link(ana, "Another tenant's").waitFor({ state: "detached" });
  });

  test("after drift the page shows both values, and offers a proposal and a restore", async () => {
    const id = await applyChange({ target: "limits.e", summary: "Ten uploads", value: '{"max":10}' });
    const setElsewhere = async (max: number) => {
      setByHand("limits.e", { max });
      await checkDrift();
    };
    await setElsewhere(99);
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, "");
    await ana.getByText("limits.e (t1) was changed outside Countersign").waitFor();
    await visit(ana, service.url, "changes");
    await ana
      .locator(".change-row")
      .filter({ hasText: "Ten uploads" })
      .getByText("Changed outside Countersign")
      .waitFor();
    await visit(ana, service.url, changePath(id));
    await status(ana).getByText("Changed outside Countersign").waitFor();
    const shown = diff(ana, "Consented value, and what the target holds now");
    expect(await shown.innerText()).toMatch(/10[\s\S]*99/);
    expect(await findSerious(ana, "change")).toEqual([]);

    await link(ana, "Propose what it holds now…").click();
    await ana.getByText("Keeps what the host product holds instead of").waitFor();
    expect(JSON.parse(await ana.getByLabel("New value").inputValue())).toEqual({ max: 99 });
    expect(await ana.getByLabel("Summary").inputValue()).toBe("Keep what the host product holds at limits.e");

    // After three restores the service rejects the fourth.
    for (const max of [99, 98, 97, 96]) {
      if (max < 99) await setElsewhere(max);
      await visit(ana, service.url, changePath(id));
      await button(ana, "Restore the consented value…").click();
      const dialog = ana.getByRole("dialog");
      await dialog.getByText(`max 10 → ${max}`).waitFor();
      await dialog.getByLabel("Note").fill("Edited by hand.");
      await button(ana, "Restore the consented value as ana").click();
      if (max > 96) await ana.getByText("The consented value is restored.").waitFor();
    }
    await ana.getByRole("dialog").getByText("Another program keeps changing this value").waitFor();
    expect(await ana.getByRole("dialog").innerText()).toMatch(/restored again from \d\d:\d\d/);
    await button(ana, "Cancel").click();
    await ana.getByText("or roll the change back. It can be restored again from").waitFor();
    const { entries } = await service.get(`api/product/audit?event_type=value_restored`);
    expect(JSON.parse(entries[0].detail)).toMatchObject({ actor: "ana", note: "Edited by hand." });

    // A rollback replaces the foreign edit only where its note says so.
    await button(ana, "Roll back…").click();
    await button(ana, "Roll back as ana").click();
    await ana.getByLabel("Roll back over what was set outside").check();
    await ana.getByRole("textbox", { name: "Note" }).fill("The script is stopped.");
    await button(ana, "Roll back as ana").click();
    await status(ana).getByText("Rolled back").waitFor();
  });

  test("without the token a drifted value is matched to an earlier change by its digest", async () => {
    await applyChange({ target: "limits.f", summary: "The first", value: "1" });
    const id = await applyChange({ target: "limits.f", summary: "The second", value: "2" });
    setByHand("limits.f", 1);
    await checkDrift();
    const guest = await open({ name: "ana" });
    await visit(guest, service.url, changePath(id));
    await guest.getByText("It had the value that").getByRole("link", { name: "The first" }).waitFor();
  });

  test("a revised change is linked from the new one, shown as open, and can be withdrawn", async () => {
    const id = await service.propose({
      kind: "feature_flag",
      target: "ui.new",
      summary: "Switch it on",
      value: '{"enabled":true,"to":5}',
    });
    const pat = await open({ name: "pat", token: TOKEN });
    await visit(pat, service.url, changePath(id));
    await link(pat, "Revise…").click();
    await pat.getByText("Revises").waitFor();
    expect(await pat.getByLabel("Rationale").inputValue()).toBe(PROPOSAL.rationale);
    expect(JSON.parse(await pat.getByLabel("New value").inputValue())).toEqual({ enabled: true, to: 5 });
    await pat.getByLabel("Tenant").fill("t9");
    await pat.getByText("This draft is a proposal of its own").waitFor();
    await pat.getByLabel("Tenant").fill("t1");
    await pat.getByLabel("New value").fill('{"enabled": true, "to": 10}');
    await pat.getByLabel("Summary").fill("Switch it on for ten");
    await button(pat, "Propose").click();
    await pat.getByText("is still open: its proposer may withdraw it there.").waitFor();
    await link(pat, "Open the change").click();
    await pat.getByText("Proposed in place of").getByRole("link", { name: "Switch it on" }).click();
    await pat.getByText("To be superseded by").getByRole("link", { name: "Switch it on for ten" }).waitFor();
    await button(pat, "Withdraw it…").click();
    await button(pat, "Withdraw as pat").click();
    await status(pat).getByText("Withdrawn").waitFor();
    await link(pat, "Propose again…").click();
    await pat.getByText("Proposes again").waitFor();
    await button(pat, "Propose").click();
    await link(pat, "Open the change").waitFor();
  });

  test("an open page shows a new proposal that supersedes its change", async () => {
    const id = await service.propose({ target: "limits.g", summary: "As it was" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, changePath(id));
    await service.propose({ target: "limits.g", summary: "As it should be", supersedes: id });
    await ana.getByText("To be superseded by").getByRole("link", { name: "As it should be" }).waitFor();
    await ana.getByText("This change is still open").waitFor();
  });

  test("a clock far behind the log is reported on the change, and can be accepted there", async () => {
    const DAY = 24 * 3600 * 1000;
    const pastClock = {
      NODE_OPTIONS: `--import ${new URL("shifted_clock.mjs", import.meta.url)}`,
      CLOCK_OFFSET_MS: String(-3 * DAY),
    };
    // The second process has a clock that is three days behind the entries of the first.
    const ahead = await startService();
    const id = await ahead.propose();
    const exited = new Promise((resolve) => ahead.server.child.once("close", resolve));
    ahead.server.child.kill();
    await exited;
    const behind = await startService({ before: ahead, env: pastClock });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, behind.url, changePath(id));
    await ana.getByText("far behind its log").waitFor();
    await button(ana, "Accept the clock…").click();
    await ana.getByLabel("Note").fill("It ran three days ahead.");
    await button(ana, "Accept the clock as ana").click();
    await button(ana, "Accept the clock…").waitFor({ state: "detached" });
    const { entries } = await behind.get("api/product/audit?event_type=clock_accepted");
    expect(entries).toHaveLength(1);
    expect(JSON.parse(entries[0].detail)).toMatchObject({ actor: "ana", note: "It ran three days ahead." });
    await button(ana, "Approve…").click();
    await button(ana, "Approve as ana").click();
    await status(ana).getByText("Approved, not applied").waitFor();
  });
});
