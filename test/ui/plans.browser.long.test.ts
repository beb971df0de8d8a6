/** Plans in the console: several targets under one consent, from the form to a failed rollback. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../e2e/server.ts";
import { addAuthenticator } from "./authenticator.ts";
import { findSerious, findViolations } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { PROPOSAL, type Service, startService, TOKEN } from "./service.ts";
import {
  countInputs,
  readDecisions,
  enrolPasskey,
  localhostUrl,
  INTENT_WITHOUT_KEYS,
  restart,
  makeSigningIntent,
} from "./signing.ts";

const browser = await startBrowser();
let service: Service;
const ANA = { name: "ana", token: TOKEN };
const { value: _, ...WITHOUT_VALUE } = PROPOSAL;
const PHONE = { viewport: { width: 360, height: 800 } };

/** Eight targets, the first of them an object with two members. */
const EIGHT_TARGETS = Array.from({ length: 8 }, (_, index) => ({
  tenant_id: "t1",
  target: `relaunch.part${index + 1}`,
  value: index === 0 ? { seats: 50, mail: true } : index,
}));

describe.skipIf(!browser)("plans in the console", () => {
  const open = useWindows(browser);
  const proposePlan = (to: Service, sets: object): Promise<string> =>
    to
      .post("api/product/propose", { ...WITHOUT_VALUE, target: "relaunch.december", sets: JSON.stringify(sets) })
      .then(({ change_id }) => change_id);

  test("one tap approves a plan of eight targets, and the page lists unopened differences", async () => {
    const before = await startService({ intent: INTENT_WITHOUT_KEYS });
    const page = await open({ ...ANA, ...PHONE });
    await addAuthenticator(page);
    const signed = await restart(before, { intent: makeSigningIntent(await enrolPasskey(page, before)) });
    const id = await proposePlan(signed, EIGHT_TARGETS);
    const countedInputs = await countInputs(page);
    await page.goto(new URL(`/#/changes/${id}`, localhostUrl(signed)).href);
    await page.reload();
    const status = page.getByRole("region", { name: "Changes" }).getByRole("status");
    await status.getByText("8 of 8 not opened").waitFor();
    for (const part of [1, 3, 4, 5, 8]) await page.locator("summary", { hasText: `relaunch.part${part}` }).click();
    await status.getByText("3 of 8 not opened: relaunch.part2, relaunch.part6, relaunch.part7.").waitFor();
    expect(await page.getByRole("region", { name: "Difference of relaunch.part1" }).innerText()).toContain(
      '"seats": 50',
    );
    expect(await findSerious(page, "a plan")).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await button(page, "Open all").click();
    await status.getByText("All 8 differences opened.").waitFor();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    expect(await countedInputs(), "five differences, Open all, and one tap").toEqual({ clicks: 7, keys: 0 });
    expect(await readDecisions(signed, id)).toMatchObject([{ approver: "ana", authenticated: "signature" }]);
  });

  describe("with unsigned consent", () => {
    beforeAll(async () => {
      service = await startService();
    });

    test("the form makes a plan, lists count its targets, and its page shows the replaced values", async () => {
      const applied = await service.propose({ target: "limits.seats", value: JSON.stringify({ seats: 40, rest: 1 }) });
      await service.post("api/product/approve", { change_id: applied, approver: "bo" });
      await service.post("api/product/apply", { change_id: applied });
      const page = await open(ANA);
      await visit(page, service.url, "propose");
      await page.getByLabel("Tenant").fill("t1");
      await page.getByLabel("Target").fill("limits.seats");
      await page.getByLabel("Summary").fill("The relaunch");
      await page.getByLabel("New value").fill('{"seats": 50, "rest": 1}');
      await button(page, "Add another target").click();
      await page.getByLabel("Name of the plan").fill("relaunch.form");
      await page.getByLabel("Target 2", { exact: true }).fill("ui.text");
      const second = page.getByRole("group", { name: "Target 2" });
      await second.getByLabel("New value").fill("{");
      await button(page, "Propose").click();
      await second.getByText(/Line 1, column \d+/).waitFor();
      await second.getByLabel("New value").fill('"Hello"');
      await page.getByText("The strictest of these answers counts for the complete plan").waitFor();
      expect(await findViolations(page, "propose a plan")).toEqual([]);
      await page.getByLabel("Proposer").fill("pat");
      await button(page, "Propose").click();
      await page.getByRole("link", { name: "Open the change" }).click();
      await page.locator("summary", { hasText: "limits.seats" }).getByText("1 value changes").waitFor();
      await page.locator("summary", { hasText: "ui.text" }).getByText('nothing → "Hello"').waitFor();
      await visit(page, service.url, "changes?q=relaunch.form");
      await page.getByText("set the 2 targets of relaunch.form for t1").waitFor();
      const [{ change_id }] = (await service.get("api/find?q=relaunch.form")).rows;
      await visit(page, service.url, "");
      await page.getByText("set the 2 targets of relaunch.form for tenant t1").waitFor();
      await service.post("api/product/approve", { change_id, approver: "bo" });
      await service.post("api/product/apply", { change_id });
      await visit(page, service.url, `changes/${change_id}`);
      await page.getByText("Applied", { exact: true }).first().waitFor();
      await page.locator("summary", { hasText: "limits.seats" }).getByText("1 value changes").waitFor();
    });

    test("differences between two tenants can be promoted as one plan", async () => {
      for (const target of ["limits.a", "limits.b", "limits.c"]) {
        const change_id = await service.propose({ tenant_id: "staging", target, value: "7" });
        await service.post("api/product/approve", { change_id, approver: "bo" });
        await service.post("api/product/apply", { change_id });
      }
      const page = await open(ANA);
      await visit(page, service.url, "compare?from=tenant:staging&to=tenant:production");
      await page.getByRole("checkbox", { name: "limits.a" }).check();
      await page.getByRole("checkbox", { name: "limits.c" }).check();
      await button(page, "Promote these 2 as one plan…").click();
      await page.getByLabel("Name of the plan").fill("release.december");
      expect(await page.getByLabel("Target 2", { exact: true }).inputValue()).toBe("limits.c");
      await button(page, "Propose").click();
      await page.getByRole("alert").getByText("Proposed.").waitFor();
      const newest = async () => (await service.get("api/product/runtime?limit=1")).changes[0];
      const sets = (tenant_id: string) => ["limits.a", "limits.c"].map((target) => ({ tenant_id, target, value: 7 }));
      const plan = await newest();
      expect(plan).toMatchObject({ target: "release.december", sets: sets("production") });

      await service.post("api/product/approve", { change_id: plan.change_id, approver: "bo" });
      await service.post("api/product/apply", { change_id: plan.change_id });
      await visit(page, service.url, `changes/${plan.change_id}`);
      await page.getByRole("link", { name: "Promote…" }).click();
      await page.getByLabel("Tenant").fill("north");
      await page.getByRole("region", { name: "Now, and after: limits.c" }).waitFor();
      await button(page, "Propose").click();
      await page.getByRole("alert").getByText("Proposed.").waitFor();
      expect(await newest()).toMatchObject({ promotes: plan.change_id, sets: sets("north") });
    });
  });

  test("after a failed rollback the page shows the state of each target", async () => {
    const folder = temporaryFolder();
    const system = (name: string) => ({ name, type: "file", match: [`${name}/*`], path: `${name}.json` });
    const targets = join(folder, "targets.json");
    writeFileSync(targets, JSON.stringify({ systems: [system("one"), system("two")] }));
    const twoSystems = await startService({ adapter: "none", args: [`--targets=${targets}`] });
    const sets = ["one/a", "two/b"].map((target) => ({ tenant_id: "t1", target, value: 1 }));
    const fields = { ...WITHOUT_VALUE, target: "one/plan", sets: JSON.stringify(sets) };
    const { change_id } = await twoSystems.post("api/product/propose", fields);
    await twoSystems.post("api/product/approve", { change_id, approver: "bo" });
    await twoSystems.post("api/product/apply", { change_id });
    const page = await open({ ...ANA, ...PHONE });
    await visit(page, twoSystems.url, `changes/${change_id}`);
    await button(page, "Roll back…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("two/b for t1: its earlier value comes back").waitFor();
    // A folder in place of the file makes the rollback of this target fail.
    rmSync(join(folder, "two.json"));
    mkdirSync(join(folder, "two.json"));
    await dialog.getByRole("button", { name: "Roll back as ana" }).click();
    await dialog.getByRole("alert").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const targetStatus = (target: string) => page.locator("summary", { hasText: target }).locator(".mark");
    expect(await targetStatus("one/a").innerText()).toBe("Rolled back");
    expect(await targetStatus("two/b").innerText()).toMatch(/^(?:Not rolled back|Unknown)/);
  });
});
