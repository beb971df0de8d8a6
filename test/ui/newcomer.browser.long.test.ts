/** Obstacles for a first-time user of the console. */
import { beforeAll, describe, expect, test } from "vitest";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("for a new approver", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
  });

  test("the dialog says immediately that a token is wrong, not at the first decision", async () => {
    const page = await open();
    await visit(page, service.url, "");
    await page.getByRole("button", { name: "You Set your name" }).click();
    const dialog = page.getByRole("dialog");
    await page.getByLabel("Your name").fill("ana");
    await page.getByLabel("Admin token").fill("not-the-right-one");
    await button(page, "Save").click();
    await dialog.getByText("The service does not accept this token.").waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("password");
    expect(await page.evaluate(() => sessionStorage.length), "the token is not stored").toBe(0);
    await page.getByLabel("Admin token").fill(TOKEN);
    await button(page, "Save").click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "You ana" }).waitFor();
  });

  test("a name can be saved without a token", async () => {
    const page = await open();
    await visit(page, service.url, "");
    await page.getByRole("button", { name: "You Set your name" }).click();
    await page.getByLabel("Your name").fill("ana");
    await button(page, "Save").click();
    await page.getByRole("button", { name: "You ana" }).waitFor();
  });

  test("a wrong field gets the focus, on a phone too", async () => {
    const page = await open({ name: "ana", token: TOKEN, viewport: { width: 390, height: 844 } });
    await visit(page, service.url, "propose");
    await page.getByLabel("Tenant").fill("t1");
    await page.getByLabel("Target").fill("limits.seats");
    await page.getByLabel("Summary").fill("Raise it");
    await page.getByLabel("New value").fill("hello");
    await button(page, "Propose").click();
    const field = page.getByLabel("New value");
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.getByText("text needs double quotes").waitFor();
  });

  test("a long value is fully visible while it is typed", async () => {
    const page = await open({ name: "ana", token: TOKEN });
    await visit(page, service.url, "propose");
    const field = page.getByLabel("New value");
    await field.fill(JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, null, 2));
    const [visible, total] = await field.evaluate((box) => [box.clientHeight, box.scrollHeight]);
    expect(visible).toBe(total);
  });
});
