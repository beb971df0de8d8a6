/** Mandates in the console: drafted, signed in one tap, used by an agent, suspended, resumed, narrowed and revoked. */
import { describe, expect, test } from "vitest";
import { SECRET, withAgents } from "../support/mcp.ts";
import { addAuthenticator } from "./authenticator.ts";
import { findViolations } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { startService, TOKEN } from "./service.ts";
import { countInputs, enrolPasskey, localhostUrl, INTENT_WITHOUT_KEYS, restart, makeSigningIntent } from "./signing.ts";

const browser = await startBrowser();

describe.skipIf(!browser)("mandates in the console", () => {
  const open = useWindows(browser);

  test("a mandate is signed in one tap, suspended by a rollback, resumed, narrowed and revoked", async () => {
    const before = await startService({ intent: INTENT_WITHOUT_KEYS });
    const page = await open({ name: "ana", token: TOKEN, viewport: { width: 360, height: 800 } });
    await addAuthenticator(page);
    const principals = { ...(withAgents()["principals"] as object), ...(await enrolPasskey(page, before)) };
    const policy = { mandates: { targets: ["price.*"] }, required_approvers: { standard: 1, major: 1 } };
    const service = await restart(before, { intent: makeSigningIntent(principals, policy) });
    await page.goto(new URL("/#/settings", localhostUrl(service)).href);
    await page.reload();
    await page.getByRole("link", { name: "Mandates" }).click();
    await page.getByLabel("Agent").fill("agent:pricing");
    await page.getByLabel("Schema of values").fill('{"type": "number", "maximum": 60}');
    await page.getByLabel("Changes a day").fill("3");
    const allows = page.getByRole("list", { name: "What it allows" });
    expect(await allows.innerText()).toContain("agent:pricing may set price.* for all tenants");
    expect(await findViolations(page, "mandates")).toEqual([]);
    await button(page, "Make the draft").click();
    await page.getByRole("heading", { name: "Mandate of agent:pricing" }).waitFor();
    const [, , id] = new URL(page.url()).hash.split("/");
    expect(await allows.innerText()).toMatch(/number, at most 60[^]*At most 3 changes a day \(UTC\)/);
    await visit(page, localhostUrl(service), "");
    await page.getByText("A mandate for agent:pricing waits for your signature").waitFor();

    const countedInputs = await countInputs(page);
    await page.goto(new URL(`/#/mandates/${id}`, localhostUrl(service)).href);
    await page.reload();
    await button(page, "Sign with your key").click();
    await page.getByText("Active", { exact: true }).waitFor();
    expect(await countedInputs()).toEqual({ clicks: 1, keys: 0 });
    expect(await findViolations(page, "mandate")).toEqual([]);

    const propose = async (value: number) => {
      const response = await fetch(new URL("api/product/propose", service.url), {
        method: "POST",
        headers: { authorization: `Bearer ${SECRET}`, "content-type": "application/json" },
        body: JSON.stringify({
          ...{ tenant_id: "t1", kind: "config", target: "price.list", value, summary: `Price ${value}` },
          ...{ reversible: true, risk: "low" },
        }),
      });
      return (await response.json()) as { change_id: string; status: string };
    };
    expect(await propose(70)).toMatchObject({ status: "pending_consent" });
    const inside = await propose(50);
    expect(inside).toMatchObject({ status: "approved" });
    await page.getByText("1 used, 2 left").first().waitFor();
    await page.getByRole("link", { name: "Price 50" }).click();
    await page.getByRole("link", { name: "Approved by a mandate" }).waitFor();

    await service.post("api/product/apply", { change_id: inside.change_id });
    await service.post("api/product/rollback", { change_id: inside.change_id });
    await visit(page, localhostUrl(service), "");
    await page.getByRole("link", { name: "The mandate of agent:pricing is suspended" }).click();
    await page.locator(".lead").getByText("A change that it approved was rolled back, or could not be.").waitFor();
    await page.getByRole("region", { name: "Results" }).getByText("1 rolled back").waitFor();
    await button(page, "Resume with your key").click();
    await page.getByText("Active", { exact: true }).waitFor();

    await button(page, "Narrow…").click();
    await page.getByLabel("Changes a day").fill("9");
    await button(page, "Narrow with your key").click();
    await page
      .getByText(/must be 3 or less/)
      .first()
      .waitFor();
    await page.getByLabel("Changes a day").fill("2");
    await button(page, "Narrow with your key").click();
    await page.getByText("At most 2 changes a day (UTC)").waitFor();
    await button(page, "Revoke…").click();
    await button(page, "Revoke with your key").click();
    await page.getByText("Ended", { exact: true }).first().waitFor();
    const shown = await service.get(`api/product/mandates/${id}`);
    expect(shown).toMatchObject({ state: "ended", max_per_day: 2, signatures: [{ approver: "ana" }] });

    await visit(page, localhostUrl(service), "mandates");
    await page.getByLabel("Agent").fill("agent:pricing");
    await button(page, "Make the draft").click();
    await page.getByText("Not signed yet").waitFor();
    expect(await button(page, "Narrow…").count(), "a draft has no signed bounds").toBe(0);
    await button(page, "Revoke…").click();
    await button(page, "Revoke with your key").click();
    await page.getByRole("heading", { name: "Draft a mandate" }).waitFor();
    await page.getByText("Not signed yet").waitFor({ state: "detached" });
  });
});
