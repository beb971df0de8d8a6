/** Find in the console: a query in the address, completed while it is typed, and the find dialog. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findViolations } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;
let deposit: string;

describe.skipIf(!browser)("find in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    deposit = await service.propose({ summary: "Ask for a 10 euro deposit", target: "visits.deposit", risk: "high" });
    await service.propose({
      summary: "Longer visits",
      target: "visits.length",
      tenant_id: "north wind",
      proposer: "ana",
    });
    const closed = await service.propose({ summary: "Shorter visits", target: "visits.length", proposer: "ana" });
    await service.post("api/product/deny", { change_id: closed, approver: "bo" });
  });

  const query = (page: Page) => page.getByRole("combobox", { name: "Query" });
  const rows = (page: Page) => page.getByRole("list", { name: "Changes found" }).getByRole("listitem");
  const address = (page: Page): string | null => new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("q");

  test("a query is completed, stored in the address, and Back returns to the previous one", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "changes");
    await page.getByText("Saved questions").click();
    await page.getByRole("link", { name: "My proposals" }).click();
    await page.getByText("2 changes match.").waitFor();
    expect([address(page), await query(page).inputValue()]).toEqual(["is:mine", "is:mine"]);
    // The browser shows the completions itself, so the test reads the list that they come from.
    const readCompletions = () => page.locator("#completions option").evaluateAll((options) => options.map((option) => option.getAttribute("value")!)); // prettier-ignore
    await query(page).fill("-is:den");
    expect(await readCompletions()).toEqual(["-is:denied "]);
    await query(page).fill("-is:denied ten");
    expect(await readCompletions()).toEqual(["-is:denied tenant:"]);
    await query(page).fill("-is:denied tenant:nor");
    const [completed = ""] = await readCompletions();
    await query(page).fill(completed);
    await page.keyboard.press("Enter");
    await page.getByText("1 change matches.").waitFor();
    expect(address(page)).toBe('-is:denied tenant:"north wind"');
    expect(await rows(page).innerText()).toContain("Longer visits");
    await page.goBack();
    await page.getByText("2 changes match.").waitFor();
    await expect.poll(() => query(page).inputValue()).toBe("is:mine");
  });

  test("groups are shown as a table, durations in words, and the query in normalised form", async () => {
    const page = await open(ANA);
    await visit(
      page,
      service.url,
      `changes?${new URLSearchParams({ q: "IS:pending group:tenant time:proposed-decided" })}`,
    );
    await page.getByText("2 changes match.").waitFor();
    await page.getByText("is:pending_consent group:tenant time:proposed-decided", { exact: true }).waitFor();
    const table = page.getByRole("table", { name: "Changes by tenant" });
    expect(await table.locator("tbody tr").allInnerTexts()).toEqual(["north wind\t1", "t1\t1"]);
    await visit(page, service.url, `changes?${new URLSearchParams({ q: "is:denied time:proposed-decided" })}`);
    await page.getByText("Median less than a minute, longest less than a minute, over ").waitFor();
    await page.getByText("took less than a minute").waitFor();
  });

  test("an unknown field is reported with the nearest known one, and the query stays as typed", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "changes");
    await query(page).fill("tennant:t1");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The query has no field tennant: did you mean tenant:?").waitFor();
    expect(await query(page).inputValue()).toBe("tennant:t1");
    expect(await findViolations(page, "find with a fault")).toEqual([]);
  });

  test("is:mine asks for the user's name if none is set", async () => {
    const page = await open({ token: TOKEN });
    await visit(page, service.url, "changes?q=is:mine");
    await page
      .getByRole("alert")
      .getByText("The query is:mine needs to know who asks: give your name under “You”.")
      .waitFor();
  });

  test("each page of results has its own address", async () => {
    const many = await startService();
    for (let index = 0; index < 52; index++)
      await many.propose({ summary: `Number ${index}`, target: `many.${index}` });
    const page = await open(ANA);
    await visit(page, many.url, "changes?q=is:pending");
    await page.getByText("52 changes match.").waitFor();
    expect(await rows(page).count()).toBe(50);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.getByText("Number 0", { exact: true }).waitFor();
    expect(await rows(page).count()).toBe(2);
    expect(await page.getByRole("link", { name: "Next page" }).count()).toBe(0);
    await page.goBack();
    await page.getByText("Number 51", { exact: true }).waitFor();
  });

  test("suggestions are accessible, and saved questions have Chinese titles in a zh-CN browser", async () => {
    const page = await open({ ...ANA, locale: "zh-CN" });
    await visit(page, service.url, "changes");
    await page.getByText("Saved questions").click();
    await page.getByRole("link", { name: "等我处理的" }).waitFor();
    await query(page).fill("ris");
    expect(await findViolations(page, "find with suggestions")).toEqual([]);
  });

  test("the find dialog takes words and queries, opens on Enter and restores focus on Escape", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    const link = page.getByRole("link", { name: "Audit" });
    await link.focus();
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog", { name: "Find" });
    await page.keyboard.type("10 euro dep");
    await dialog.getByRole("link", { name: "10 euro deposit" }).waitFor();
    expect(await findViolations(page, "palette")).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("is:pending risk:high");
    await dialog.getByRole("link", { name: "10 euro deposit" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/changes/${deposit}`);
  });

  test("a chat answer links to its query in the list of changes", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    await page.keyboard.press("/");
    await page.getByLabel("A change or a page").fill("is:pending risk:high");
    await button(page, "Ask the service").click();
    await page.getByRole("link", { name: "is:pending_consent risk:high" }).click();
    await page.getByText("1 change matches.").waitFor();
  });
});
