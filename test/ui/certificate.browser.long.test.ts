/** The certificate of a change: downloaded from its page and verified without the service. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { program } from "../e2e/server.ts";
import { findSerious } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { startService, TOKEN } from "./service.ts";

const run = promisify(execFile);
const browser = await startBrowser();

describe.skipIf(!browser)("the certificate of a change", () => {
  const open = useWindows(browser);

  test.each([
    ["open", {}],
    ["protected", { SVC_PROTECT_READS: "1" }],
  ])("can be downloaded where reads are %s, and an error leaves no file", async (_, env) => {
    const service = await startService({ env });
    const id = await service.propose();
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    const page = await open({ name: "ana", token: TOKEN });
    await visit(page, service.url, `changes/${id}`);
    const downloadButton = button(page, "Download proof of this change");

    let stale = true;
    const rejection = { error: "the content is not what was proposed", code: "approval_stale" };
    await page.route("**/certificate", (route) =>
      stale ? route.fulfill({ status: 409, json: rejection }) : route.continue(),
    );
    const downloads: string[] = [];
    page.on("download", (download) => downloads.push(download.suggestedFilename()));
    await downloadButton.click();
    await page.getByText("The content is not what was proposed.").waitFor();
    expect(downloads).toEqual([]);
    stale = false;

    const [download] = await Promise.all([page.waitForEvent("download"), downloadButton.click()]);
    await page.getByText(`Saved ${id}.certificate`).waitFor();
    expect(await page.getByText("The content is not what was proposed.").count()).toBe(0);
    expect(downloads).toEqual([`${id}.certificate`]);
    expect(await findSerious(page, "certificate")).toEqual([]);

    const verifier = join(dirname(await program()), "verify/main.js");
    const args = [verifier, "certificate", await download.path(), "--json"];
    // No trusted key of the log is given, so the verifier exits with 2.
    const ended = await run(process.execPath, args).catch((failure: { code: number; stdout: string }) => failure);
    expect(ended).toMatchObject({ code: 2 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ verdict: "consistent" });
    expect(ended.stdout).toContain(id);
  });
});
