/** With protected reads the console asks for a token, and uses it for all reads. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, freshness, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const READ_TOKEN = "a-token-that-only-reads";
const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("protected reads", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService({ env: { SVC_PROTECT_READS: "1", SVC_READ_TOKEN: READ_TOKEN } });
    await service.propose();
  });

  test.each([
    ["the admin token", TOKEN],
    ["the read token", READ_TOKEN],
  ])("%s opens pages, events and the export, and is never part of an address", async (_, token) => {
    const page = await open();
    const requestedUrls: string[] = [];
    const rejectedUrls: string[] = [];
    page.on("request", (request) => requestedUrls.push(request.url()));
    await visit(page, service.url, "");
    const field = page.getByLabel("Admin token or read token");
    await field.fill("not-the-right-one");
    await button(page, "Open").click();
    await page.getByText("The service does not accept this token.").waitFor();
    expect(await findSerious(page, "gate")).toEqual([]);
    await field.fill(token);
    await button(page, "Open").click();
    await page.getByText("pat asks to change limits.uploads for tenant t1").first().waitFor();
    page.on("response", (answer) => answer.status() === 401 && rejectedUrls.push(answer.url()));
    await freshness(page, "Live").waitFor();

    // Without a reload: the event stream is requested with the token. The tokens of the two cases differ in length, which names the
    // target of each.
    await service.propose({ target: `limits.${token.length}`, tenant_id: "t2" });
    await page.getByText(`pat asks to change limits.${token.length} for tenant t2`).waitFor();

    await visit(page, service.url, "audit");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: /^Log of \d+ entries$/ }).click(),
    ]);
    expect(readFileSync(await download.path(), "utf8")).toContain(`limits.${token.length}`);
    expect(rejectedUrls).toEqual([]);
    expect(requestedUrls.filter((address) => address.includes(token))).toEqual([]);
    // After a reload the page does not ask for the token again.
    await page.reload();
    await page.getByRole("heading", { name: "Entries" }).waitFor();
  });
});
