/** The cost of frequent tasks: clicks, requests and milliseconds, with a limit on the clicks. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { inFull } from "../support/run_length.ts";
import { INTENT, type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };
const PHONE = { ...ANA, viewport: { width: 360, height: 740 }, hasTouch: true };
const KPI = "nrr_quarterly";

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("the cost of a task", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService({
      intent: { ...INTENT, policy: { ...INTENT.policy, break_glass: { approvers: ["ana"] } } },
    });
  });

  /** Counts clicks and requests from now on; `click` waits for an element and clicks it. */
  function startCounting(page: Page) {
    const startedAt = performance.now();
    let [clicks, requests] = [0, 0];
    page.on("request", () => requests++);
    return {
      click: async (target: Locator) => {
        clicks++;
        await target.click();
      },
      /** Prints the counts of a task, which is named by a letter and words, and requires at most `maxClicks` clicks. */
      end: (task: string, maxClicks: number) => {
        const ms = Math.round(performance.now() - startedAt);
        process.stdout.write(`task ${task}: ${clicks} clicks, ${requests} requests, ${ms} ms\n`);
        expect(clicks, task).toBeLessThanOrEqual(maxClicks);
      },
    };
  }

  /** Proposes, approves and applies a change; returns its id. */
  async function applyChange(fields: Record<string, string>): Promise<string> {
    const change_id = await service.propose(fields);
    await service.post("api/product/approve", { change_id, approver: "bo" });
    await service.post("api/product/apply", { change_id });
    return change_id;
  }

  test("five decisions take eleven clicks, and each page confirms the previous decision", async () => {
    for (let nth = 1; nth <= 6; nth++) await service.propose({ target: `limits.n${nth}`, summary: `Change ${nth}` });
    const page = await open(ANA);
    await visit(page, service.url, "");
    const { click, end } = startCounting(page);
    await click(page.getByRole("link", { name: "Change 1" }));
    for (let nth = 1; nth <= 5; nth++) {
      await page.locator("h1").getByText(`Change ${nth}`, { exact: true }).waitFor();
      if (nth > 1) await page.getByText(`It is on record of Change ${nth - 1}.`).waitFor();
      await click(button(page, nth === 3 ? "Deny…" : "Approve…"));
      await click(button(page, `${nth === 3 ? "Deny" : "Approve"} and go to next`));
    }
    await page.locator("h1").getByText("Change 6", { exact: true }).waitFor();
    await button(page, "Approve…").waitFor();
    end("b, five decisions", 11);
    expect(await button(page, "Approve as an emergency…").isVisible(), "nothing is urgent").toBe(false);
    // A page accepts keys a moment after it is shown.
    const returnsToInbox = async (): Promise<boolean> => {
      await page.keyboard.press("u");
      return page.getByText("1 change waits for your consent").isVisible();
    };
    await expect.poll(returnsToInbox, { timeout: 20_000 }).toBe(true);
    await page.getByRole("navigation").getByText("1 waiting").waitFor();
    const { changes } = await service.get("api/product/runtime?limit=6");
    expect(changes.map(({ status }: { status: string }) => status).toReversed()).toEqual([
      "approved", "approved", "denied", "approved", "approved", "pending_consent",
    ]); // prettier-ignore
  });

  test("from a KPI that fell to the rollback of the change before it takes four clicks", async () => {
    const page = await open(ANA);
    await service.post("api/product/kpi", { [KPI]: "1.05" });
    await applyChange({ target: "auth.captcha", summary: "Ask for a captcha", kpi: KPI, expected_delta_k: "0.01" });
    await service.post("api/product/kpi", { [KPI]: "0.9" });
    await visit(page, service.url, "");
    const { click, end } = startCounting(page);
    await click(page.getByRole("navigation").getByRole("link", { name: "KPIs" }));
    await page.getByText("Before it, newest first:").waitFor();
    await click(page.locator("ul.plain").getByRole("link", { name: "Ask for a captcha" }));
    await click(button(page, "Roll back…"));
    await click(button(page, "Roll back as ana"));
    await page.getByText("The change is rolled back.").waitFor();
    end("d, cause and rollback", 4);
  });

  inFull(test)("on a phone a freeze takes three taps, and applying an emergency change five", async () => {
    const page = await open(PHONE);
    await visit(page, service.url, "kpis");
    const freeze = startCounting(page);
    await freeze.click(button(page, "Stop…"));
    await freeze.click(button(page, "Freeze…"));
    await freeze.click(button(page, "Freeze as ana"));
    await page.getByText("Only an emergency is applied meanwhile").waitFor();
    freeze.end("e, freeze", 3);
    await service.propose({ target: "limits.urgent", summary: "Urgent" });
    await visit(page, service.url, "");
    const emergency = startCounting(page);
    await emergency.click(page.getByRole("link", { name: "Urgent" }));
    await emergency.click(button(page, "Approve as an emergency…"));
    await page.getByLabel("Note").fill("Uploads fail.");
    await emergency.click(button(page, "Approve as an emergency as ana"));
    await emergency.click(button(page, "Apply…"));
    await emergency.click(button(page, "Apply as ana"));
    await page.getByText("The change is applied and verified.").waitFor();
    emergency.end("e, emergency and apply", 5);
    await service.post("api/product/unfreeze", { actor: "ana" });
  });

  inFull(test)("the proof of a change takes two clicks, the pack of a month three, and a report two", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "changes?q=captcha");
    const proof = startCounting(page);
    await proof.click(page.getByRole("link", { name: "Ask for a captcha" }));
    await proof.click(button(page, "Download proof of this change"));
    await page.getByText(/^Saved chg_.*\.certificate/).waitFor();
    proof.end("f, proof of a change", 2);
    const pack = startCounting(page);
    await pack.click(page.getByRole("navigation").getByRole("link", { name: "Audit" }));
    await page.getByLabel("From").fill("2026-10-01");
    await page.getByLabel("To", { exact: true }).fill("2026-10-31");
    await pack.click(button(page, "Filter"));
    await pack.click(button(page, "Pack of the days below"));
    await page.getByText(/^Saved audit-2026-10-01-2026-10-31\.tar/).waitFor();
    pack.end("f, pack of October", 3);
    const report = startCounting(page);
    await report.click(page.getByRole("navigation").getByRole("link", { name: "Settings" }));
    await report.click(page.getByRole("region", { name: "Reports" }).locator("summary").first());
    await page.locator(".files pre").waitFor();
    report.end("j, a report", 2);
  });

  inFull(test)("invalid JSON is reported while it is typed, and a week is found by a typed query", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "");
    const propose = startCounting(page);
    await propose.click(page.getByRole("link", { name: "Propose a change" }).first());
    for (const [typed, fault] of [
      ['{"max": 1,}', "Line 1, column 10: unexpected comma before the end."],
      ["{'max': 1}", "Line 1, column 2: a name in double quotes is expected."],
      ['{"max" 1}', "Line 1, column 8: a colon is expected after the name."],
    ] as const) {
      await page.getByLabel("New value").fill(typed);
      await page.getByText(fault).waitFor();
    }
    propose.end("g, JSON wrong three times", 1);
    const query = startCounting(page);
    await query.click(page.getByRole("navigation").getByRole("link", { name: "Changes" }));
    await page.locator("h1").getByText("Changes").waitFor();
    await page.getByRole("combobox", { name: "Query" }).fill("proposer:pat proposed:last-7-days");
    await page.getByRole("combobox", { name: "Query" }).press("Enter");
    await page.getByText(/\d+ changes? match/).waitFor();
    query.end("i, the week of a proposer", 1);
  });

  inFull(test)("a value that was changed outside the service is restored in three clicks", async () => {
    await applyChange({ target: "limits.drifts", summary: "Ten uploads", value: "10" });
    const config = JSON.parse(readFileSync(service.config, "utf8"));
    writeFileSync(
      service.config,
      JSON.stringify(config, (name, value) => (name === "limits.drifts" ? 99 : value)),
    );
    await service.post("api/action/run-now", { action: "check_drift" });
    const page = await open(ANA);
    await visit(page, service.url, "");
    const { click, end } = startCounting(page);
    await click(page.getByRole("link", { name: "limits.drifts (t1) was changed outside Countersign" }));
    await click(button(page, "Restore the consented value…"));
    await click(button(page, "Restore the consented value as ana"));
    await page.getByText("The consented value is restored.").waitFor();
    end("h, drift restored", 3);
  });

  inFull(test)("an empty service explains its purpose on the first visit", async () => {
    const empty = await startService();
    const page = await open(ANA);
    const { end } = startCounting(page);
    await visit(page, empty.url, "");
    await page.getByText("Countersign governs product changes").waitFor();
    end("a, first visit", 0);
  });
});
