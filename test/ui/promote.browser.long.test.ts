/** Promotion of values from one environment to the next, in the console with several target systems. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../e2e/server.ts";
import { findViolations } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
let service: Service;
const ANA = { name: "ana", token: TOKEN };

describe.skipIf(!browser)("promotion in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    const targets = join(temporaryFolder(), "targets.json");
    const system = (name: string) => ({ name, type: "file", match: [`${name}/*`], path: `${name}.json` });
    const rest = { name: "rest", type: "file", match: ["*"], path: "rest.json" };
    writeFileSync(targets, JSON.stringify({ systems: [system("try"), system("live"), rest] }));
    service = await startService({ adapter: "none", args: [`--targets=${targets}`] });
  });

  const applyChange = async (fields: Record<string, string>): Promise<string> => {
    const change_id = await service.propose(fields);
    await service.post("api/product/approve", { change_id, approver: "bo" });
    await service.post("api/product/apply", { change_id });
    return change_id;
  };

  test("a promotion asks for tenant and reach, and takes kind and value from the change", async () => {
    const id = await applyChange({ tenant_id: "staging", target: "limits.seats", value: "50", summary: "More seats" });
    const replacedId = await applyChange({
      tenant_id: "production",
      target: "limits.seats",
      value: "40",
      summary: "Seats",
    });
    const page = await open(ANA);
    await visit(page, service.url, `changes/${await service.propose()}`);
    expect(await page.getByRole("link", { name: "Promote…" }).count(), "nothing is applied yet").toBe(0);
    await visit(page, service.url, `changes/${id}`);
    await page.getByRole("link", { name: "Promote…" }).click();
    expect(await page.getByLabel("Summary").inputValue()).toBe("More seats");
    expect((await page.getByLabel("New value").count()) + (await page.getByLabel("Kind").count())).toBe(0);
    await page.getByLabel("Tenant").fill("staging");
    await button(page, "Propose").click();
    await page
      .getByText(/is already; name another place/)
      .first()
      .waitFor();
    await page.getByLabel("Tenant").fill("production");
    const lines = page.getByRole("region", { name: "Now, and after" });
    await lines.waitFor();
    expect(await lines.locator("code").allInnerTexts()).toEqual(["40", "50"]);
    await page.getByLabel("People affected").fill("900");
    await button(page, "Propose").click();
    await page.getByRole("link", { name: "Open the change" }).click();
    await page.getByText("Promotes: the value of another change").waitFor();
    const { changes } = await service.get("api/product/runtime?tenant_id=production&limit=1");
    expect(changes[0]).toMatchObject({ promotes: id, value: 50, target: "limits.seats", affected_users: 900 });

    await applyChange({ tenant_id: "production", target: "limits.seats", value: "45", summary: "Fewer" });
    await visit(page, service.url, `changes/${replacedId}`);
    await button(page, "Roll back…").waitFor();
    expect(await page.getByRole("link", { name: "Promote…" }).count(), "its target has another value").toBe(0);
  });

  test("the page of differences compares tenants and systems, and links to each promotion", async () => {
    const rules = { retries: 3, list: ["first", "second", "third", "a text that makes it long"] };
    await applyChange({ tenant_id: "staging", target: "crm.rules", value: JSON.stringify(rules), summary: "Rules" });
    await applyChange({ tenant_id: "north", target: "crm.rules", value: JSON.stringify({ ...rules, retries: 4 }) });
    await applyChange({ tenant_id: "staging", target: "limits.exports", value: "5" });
    await applyChange({ tenant_id: "*", target: "limits.exports", value: "5" });
    await applyChange({ tenant_id: "north", target: "limits.north", value: "true" });
    const page = await open({ ...ANA, viewport: { width: 360, height: 800 } });
    await visit(page, service.url, "compare?from=tenant:staging&to=tenant:north");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    // crm.rules, limits.north, and limits.seats, which the test above set for staging.
    await page.getByRole("heading", { name: "3 differences" }).waitFor();
    await row("limits.north").getByText("Only in north").waitFor();
    expect(await row("limits.north").getByRole("link", { name: "Promote" }).count()).toBe(0);
    await row("crm.rules").getByRole("link", { name: "Rules", exact: true }).waitFor();
    expect(await row("crm.rules").innerText()).toContain("approved by bo, just now");
    await row("crm.rules").getByRole("button", { name: "Show the difference" }).press("Enter");
    await page.locator(".changed-paths").getByText("retries").waitFor();
    expect(await page.locator(".changed-paths").innerText()).toMatch(/retries\s+4\s+→\s+3/);
    await page.getByText("1 target has the same value").click();
    await page.getByText("limits.exports").waitFor();
    expect(await findViolations(page, "compare")).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);

    await applyChange({ target: "try/seats", value: "50", summary: "Try more" });
    await page.getByLabel("From").selectOption("system try");
    await page.getByRole("heading", { name: "1 difference" }).waitFor();
    expect(await page.getByLabel("To").inputValue()).toBe("system:live");
    await page.getByRole("link", { name: "Promote t1: seats" }).click();
    expect(await page.getByLabel("Target").inputValue()).toBe("live/seats");
    await button(page, "Propose").click();
    await page.getByRole("alert").getByText("Proposed.").waitFor();
    expect(await service.get("api/product/runtime?limit=1")).toMatchObject({
      changes: [{ tenant_id: "t1", target: "live/seats", value: 50, summary: "Try more" }],
    });
  });
});
