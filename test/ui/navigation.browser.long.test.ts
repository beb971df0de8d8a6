/** Navigation between decisions, rollback on a phone, the form of a proposal, and pages with a failed part. */
import { beforeAll, describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, waitForShortcuts, startBrowser, useWindows, visit } from "./browser.ts";
import { INTENT, type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
const ANA = { name: "ana", token: TOKEN };
let service: Service;

describe.skipIf(!browser)("navigation in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    for (let nth = 0; nth < 12; nth++) await service.propose({ target: `limits.n${nth}`, summary: `Change ${nth}` });
  });

  test("keys lead from one decision to the next, and Back restores scroll position and focus", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "");
    const rows = page.locator("article.row a[data-row]");
    const row = rows.nth(8);
    const title = await row.innerText();
    await row.scrollIntoViewIfNeeded();
    const top = await page.evaluate(() => scrollY);
    expect(top).toBeGreaterThan(0);
    await row.click();
    await page.locator("h1").getByText(title).waitFor();
    await button(page, "Approve…").waitFor();
    await page.goBack();
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(top);
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(title);

    await rows.first().click();
    await page.locator("h1").getByText("Change 0").waitFor();
    await button(page, "Approve…").waitFor();
    await waitForShortcuts(page);
    await page.keyboard.press("a");
    await page.getByLabel("Note").fill("Fits.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Next: Change 1 (11 left)").waitFor();
    await page.keyboard.press("n");
    await page.locator("h1").getByText("Change 1", { exact: true }).waitFor();
    await button(page, "Approve…").waitFor();
    await waitForShortcuts(page);
    await page.keyboard.press("u");
    await page.locator("h1").getByText("Inbox").waitFor();
    await page.getByRole("navigation").getByText("11 waiting").waitFor();
  });

  test("on a phone a rollback is two taps away, and the action buttons stay visible", async () => {
    const { change_id } = await service.post("api/product/propose", {
      tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show the banner", value: "true", proposer: "pat",
    }); // prettier-ignore
    await service.post("api/product/approve", { change_id, approver: "bo" });
    await service.post("api/product/apply", { change_id });
    const phone = await open({ ...ANA, viewport: { width: 360, height: 740 }, hasTouch: true });
    await visit(phone, service.url, "audit");
    await button(phone, "Stop…").tap();
    await phone.getByRole("dialog").getByText("Show the banner").waitFor();
    expect(await findSerious(phone, "stop")).toEqual([]);
    await button(phone, "Roll back…").tap();
    await phone.getByRole("dialog").getByText("Roll back this change?").waitFor();
    await button(phone, "Cancel").tap();
    expect(phone.url()).toMatch(new RegExp(`changes/${change_id}$`));
    const facts = await phone.getByRole("list", { name: "Facts" }).innerText();
    for (const fact of ["Undo: not stated", "Risk: not stated", "People affected: not stated"])
      expect(facts).toContain(fact);
    expect(await phone.locator("h1").innerText()).toBe("Show the banner");
    await phone.evaluate(() => scrollTo(0, document.body.scrollHeight));
    expect(await button(phone, "Roll back…").boundingBox()).toMatchObject({ y: expect.any(Number) });
    const { y, height } = (await button(phone, "Roll back…").boundingBox())!;
    expect(y + height).toBeLessThanOrEqual(740);
    expect(y).toBeGreaterThan(740 / 2);
    expect(await phone.evaluate(() => document.documentElement.scrollWidth), "the page does not scroll sideways").toBe(
      360,
    );
    expect(await findSerious(phone, "phone")).toEqual([]);
  });

  test("a proposal starts from the current value, shows what it changes, and its draft is stored", async () => {
    const { change_id } = await service.post("api/product/propose", {
      tenant_id: "acme", kind: "config", target: "limits.day", summary: "Ten", value: '{"max":10}', proposer: "pat",
    }); // prettier-ignore
    await service.post("api/product/approve", { change_id, approver: "bo" });
    await service.post("api/product/apply", { change_id });
    const page = await open(ANA);
    await visit(page, service.url, "propose");
    await page.locator('datalist#targets option[value="limits.day"]').waitFor({ state: "attached" });
    await page.getByLabel("Tenant").fill("acme");
    await page.getByLabel("Target").fill("limits.day");
    const value = page.getByLabel("New value");
    await expect.poll(() => value.inputValue()).toBe('{\n  "max": 10\n}');
    await value.fill('{"max": 20,}');
    await page.getByText("Line 1, column 11: unexpected comma before the end.").waitFor();
    await value.fill('{"max": 20}');
    await page.getByText("max 10 → 20").waitFor();
    expect(await findSerious(page, "propose")).toEqual([]);
    await page.reload();
    await page.getByText("max 10 → 20").waitFor();
    await button(page, "Start over").click();
    expect(await page.getByLabel("Target").inputValue()).toBe("");
  });

  test("the form shows the allowed values, asks when to apply, and sends both", async () => {
    const targets = [{ match: ["price.*"], schema: { type: "number", minimum: 1, maximum: 500 }, unit: "EUR" }];
    const policy = { ...INTENT.policy, targets, apply_when: ["scheduled"] };
    const ruled = await startService({ intent: { ...INTENT, policy } });
    const page = await open(ANA);
    await visit(page, ruled.url, "propose");
    await page.getByLabel("Tenant").fill("acme");
    await page.getByLabel("Target").fill("price.list");
    const allowed = page.getByRole("list", { name: "Allowed values" }).getByRole("listitem");
    await expect.poll(() => allowed.allInnerTexts()).toEqual(["Value: number, at least 1, at most 500.", "Unit: EUR."]);
    await page.getByLabel("Summary").fill("A new price");
    await page.getByLabel("New value").fill("49");
    await page.getByLabel("Apply", { exact: true }).selectOption("at a time");
    await page.getByLabel("At", { exact: true }).fill("2099-01-01T08:00");
    await page.getByLabel("Proposer").fill("pat");
    expect(await findSerious(page, "propose")).toEqual([]);
    await button(page, "Propose").click();
    await page.getByRole("link", { name: "Open the change" }).click();
    await page.getByText("Applies by itself at 1 Jan 2099, 08:00").waitFor();
    const { changes } = await ruled.get("api/product/runtime?tenant_id=acme");
    expect(changes[0]).toMatchObject({ value: 49, apply_when: "2099-01-01T08:00:00.000Z" });
  });

  test("a failed part leaves the rest of the page, and ages follow the service's clock", async () => {
    const page = await open(ANA);
    await page.clock.install({ time: Date.now() + 90_000 });
    // A file without a time makes the panel of the reports fail.
    await page.route("**/api/evolved", (route) =>
      route.fulfill({ json: { files: [{ name: "a.md", modified_at: "" }] } }),
    );
    await visit(page, service.url, "settings");
    await page.getByText("This part could not be shown.").waitFor();
    await page.getByRole("heading", { name: "Health" }).waitFor();
    const id = await service.propose({ target: "limits.aged", summary: "Just now" });
    await visit(page, service.url, `changes/${id}`);
    await page.getByText("It has waited less than a minute").waitFor();
  });
});
