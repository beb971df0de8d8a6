/** Mistakes of users: the console names the fault and the field, sends nothing twice and keeps the typed text. */
import { beforeAll, describe, expect, test } from "vitest";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("mistakes at the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
  });

  test.each([
    ["wrong", "not-the-token", "needs the header X-Svc-Admin-Token"],
    ["not possible in a header", "пароль", "The token holds characters that no header can carry."],
  ])("the dialog reports a token that is %s, and asks for it again", async (_what, token, message) => {
    const id = await service.propose();
    const page = await open({ name: "ana", token });
    await visit(page, service.url, `changes/${id}`);
    await button(page, "Approve…").click();
    await page.getByLabel("Note").fill("Kept.");
    await button(page, "Approve as ana").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(message).waitFor();
    await dialog.getByText("The token is not the right one. Enter it again above.").waitFor();
    await page.waitForFunction(() => document.activeElement?.matches('[type="password"]'));
    await page.keyboard.type(TOKEN);
    await page.keyboard.press("Enter");
    await page.getByText("Your consent is recorded.").waitFor();
    expect(await service.get(`api/product/changes/${id}`)).toMatchObject({ approval_note: "Kept." });
  });

  test("the dialog asks for the token again after each wrong one", async () => {
    const id = await service.propose();
    const page = await open({ name: "ana", token: "wrong" });
    await visit(page, service.url, `changes/${id}`);
    await button(page, "Approve…").click();
    for (const next of ["wrong again", TOKEN]) {
      const answered = page.waitForResponse("**/api/product/approve");
      await button(page, "Approve as ana").click();
      await answered;
      await page.getByText("The token is not the right one.").waitFor();
      await page.waitForFunction(() => document.activeElement?.matches('[type="password"]'));
      await page.keyboard.type(next);
    }
    await page.keyboard.press("Enter");
    await page.getByText("Your consent is recorded.").waitFor();
  });

  test("all wrong fields are reported together, and the first of them gets the focus", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "propose");
    await page.getByLabel("Tenant").fill("t1");
    await page.getByLabel("Target").fill("two words");
    await page.getByLabel("Summary").fill("Kept");
    await page.getByLabel("People affected").fill("-3");
    await button(page, "Propose").click();
    await page.getByRole("alert").getByText("Nothing was accepted, since:").waitFor();
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === "target");
    expect(await page.locator("small.error").allInnerTexts()).toEqual([
      expect.stringContaining("must be 1 to 200 characters"),
      "must be a whole number of 0 or more",
    ]);
    expect(await page.getByLabel("Summary").inputValue()).toBe("Kept");
    await page.getByLabel("Target").fill("two_words");
    expect(await page.getByRole("alert").count(), "a corrected field is no longer named").toBe(0);
    expect(await page.locator("small.error").count()).toBe(0);
    await page.getByLabel("New value").fill(JSON.stringify("long".repeat(17_000)));
    await page.getByText("The proposal is over 64 KiB. Shorten the value.").waitFor();
    let sent = 0;
    page.on("request", (request) => void (sent += Number(request.url().endsWith("/propose"))));
    await button(page, "Propose").click();
    expect(sent, "nothing is sent").toBe(0);
  });

  test("a proposal is sent once, however often Enter is pressed, until a field changes", async () => {
    const page = await open(ANA);
    let sent = 0;
    page.on("request", (request) => void (sent += Number(request.url().endsWith("/propose"))));
    await visit(page, service.url, "propose");
    await page.getByLabel("Tenant").fill("twice");
    await page.getByLabel("Target").fill("limits.twice");
    await page.getByLabel("Summary").fill("Only once");
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Enter");
    await page.getByText("This is proposed. Change something in it to propose another.").waitFor();
    await page.getByLabel("Summary").press("Enter");
    expect(await button(page, "Propose").count()).toBe(0);
    await page.getByLabel("Summary").fill("Another one");
    await Promise.all([page.waitForResponse("**/api/product/propose"), button(page, "Propose").click()]);
    const { changes } = await service.get("api/product/runtime?tenant_id=twice");
    expect(changes.map(({ summary }: { summary: string }) => summary)).toEqual(["Another one", "Only once"]);
    expect(sent).toBe(2);
  });

  test("a KPI feed that is repeated after a lost response counts once", async () => {
    const page = await open(ANA);
    let requests = 0;
    await page.route("**/api/product/kpi", async (route) => {
      if (requests++ > 0) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await visit(page, service.url, "kpis");
    // The key `f` opens the dialog for KPI values.
    await page.keyboard.press("f");
    await page.getByLabel("NRR quarterly").fill("1.05");
    await button(page, "Save as ana").click();
    await page.getByText("The service cannot be reached.").waitFor();
    await button(page, "Save as ana").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await service.get("api/product/audit?event_type=kpi_refreshed")).entries).toHaveLength(1);
  });

  test("a name that is entered later becomes the proposer, unless another one was typed", async () => {
    const page = await open({ token: TOKEN });
    await visit(page, service.url, "propose");
    const enterName = async (buttonName: string, name: string) => {
      await page.getByRole("button", { name: buttonName }).click();
      await page.getByLabel("Your name").fill(name);
      await button(page, "Save").click();
    };
    await enterName("Set your name", "ana");
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name="proposer"]')?.value === "ana");
    await page.getByLabel("Proposer").fill("pat");
    await enterName("You ana", "bo");
    await page.getByRole("button", { name: "You bo" }).waitFor();
    expect(await page.getByLabel("Proposer").inputValue()).toBe("pat");
  });

  test("the filter fields follow the address, also after Back", async () => {
    const id = await service.propose();
    const page = await open(ANA);
    await visit(page, service.url, `audit?change_id=${id}`);
    const field = page.getByLabel("Change", { exact: true });
    expect(await field.inputValue()).toBe(id);
    await page.getByRole("navigation", { name: "Pages" }).first().getByRole("link", { name: "Audit" }).click();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[placeholder="chg_…"]')?.value === "");
    await page.goBack();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[placeholder="chg_…"]')?.value !== "");
    expect(await field.inputValue()).toBe(id);
  });

  test("the name from the proxy wins over a typed name", async () => {
    const proxied = await startService({ args: ["--identity-header=x-person"] });
    const id = await proposeAs(proxied, "pat");
    const page = await open({ ...ANA, extraHTTPHeaders: { "x-person": "bo" } });
    await visit(page, proxied.url, `changes/${id}`);
    await page.getByRole("button", { name: "You bo" }).waitFor();
    await button(page, "Approve…").click();
    await button(page, "Approve as bo").click();
    await page.getByText("Your consent is recorded.").waitFor();
    const { status, approvals } = await proxied.get(`api/product/changes/${id}`);
    expect([status, approvals[0].approver]).toEqual(["approved", "bo"]);
  });
});

/** Proposes through a proxy that names this person. */
async function proposeAs({ url }: Service, person: string): Promise<string> {
  const fields = { tenant_id: "t1", kind: "config", target: "limits.uploads", summary: "Raise it", proposer: person };
  const answer = await fetch(new URL("api/product/propose", url), {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { "x-svc-admin-token": TOKEN, "x-person": person },
  });
  return (await answer.json()).change_id;
}
