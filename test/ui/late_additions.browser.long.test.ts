/** Additions to the record: a late rationale, and the weekly report. */
import { describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { startService, TOKEN } from "./service.ts";

const browser = await startBrowser();

describe.skipIf(!browser)("additions to the record", () => {
  const open = useWindows(browser);

  test("a missing rationale can be added late, once, and is shown as late with its author", async () => {
    const service = await startService();
    const id = await service.propose({ rationale: "" });
    const page = await open({ name: "bo", token: TOKEN });
    await visit(page, service.url, `changes/${id}`);
    expect(await button(page, "Add a late rationale…").count(), "a pending change offers no late rationale").toBe(0);
    await service.post("api/product/deny", { change_id: id, approver: "ana", note: "not now" });

    await button(page, "Add a late rationale…").click();
    expect(await button(page, "Add a late note…").count(), "the denial has a note").toBe(0);
    const dialog = page.getByRole("dialog");
    expect(await findSerious(page, "the late rationale")).toEqual([]);
    await dialog.getByLabel("Rationale").fill("Support asked for it.\n<b>Twice</b>");
    await button(page, "Add a late rationale as bo").click();
    await page.getByText("Rationale added late by bo.").waitFor();
    await page.getByText("Added later by bo").waitFor();
    await button(page, "Add a late rationale…").waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.tagName), "the pressed button is gone").toBe("H1");
    expect((await service.get(`api/product/changes/${id}`)).late_notes).toMatchObject([
      { item: "rationale", note: "Support asked for it.\n<b>Twice</b>", actor: "bo" },
    ]);
    expect(await findSerious(page, "the change")).toEqual([]);
  });

  test("a weekly report is shown as text and fits a narrow window", async () => {
    const service = await startService();
    await service.post("api/action/run-now", { action: "write_report" });
    const page = await open({ name: "bo", token: TOKEN, viewport: { width: 360, height: 900 } });
    await visit(page, service.url, "settings");
    await page.locator(".files summary").first().click();
    await page.getByText("# Week").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(await findSerious(page, "the report")).toEqual([]);
  });
});
