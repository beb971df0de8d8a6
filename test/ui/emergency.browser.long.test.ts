/** A freeze, an emergency consent and its review in the console. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, showReasons, startBrowser, useWindows, visit } from "./browser.ts";
import { INTENT, type Service, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();
let service: Service;

const break_glass = { approvers: ["sam"], required: 1, review_hours: 72 };
const intent = {
  ...INTENT,
  policy: { ...INTENT.policy, break_glass, consent_ttl_hours: 48, approvers: ["ana", "bo", "sam"] },
};

describe.skipIf(!browser)("freeze and emergency in the console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService({ intent });
  });

  const readEvents = async (query: string): Promise<{ event_type: string; detail: string }[]> =>
    (await service.get(`api/product/audit?${query}`)).entries;
  const freezeNotice = (page: Page) =>
    page.getByText("Only an emergency is applied meanwhile; a rollback is always possible.");

  test("a freeze can be ordered on any page, is shown on all pages and can be lifted there", async () => {
    const ana = await open({ name: "ana", token: TOKEN });
    const bo = await open({ name: "bo", token: TOKEN });
    const id = await service.propose();
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    await visit(bo, service.url, `changes/${id}`);
    await button(bo, "Apply…").waitFor();

    await visit(ana, service.url, "audit");
    await button(ana, "Stop…").click();
    await button(ana, "Freeze…").click();
    await ana.getByLabel("Note").fill("The ledger is audited.");
    await ana.getByLabel("Until").fill("2020-01-01T08:00");
    expect(await findSerious(ana, "freeze")).toEqual([]);
    await button(ana, "Freeze as ana").click();
    await ana.getByText("must be in the future").first().waitFor();
    await ana.getByLabel("Until").fill("2099-01-01T08:00");
    await button(ana, "Freeze as ana").click();
    await ana.getByRole("dialog").waitFor({ state: "detached" });

    // Without a reload:
    await freezeNotice(bo).waitFor();
    await bo.getByText("ana froze the service until 1 Jan 2099, 08:00: The ledger is audited.").waitFor();
    await showReasons(bo);
    await bo
      .getByText(/^Can't apply yet: the service is frozen by ana until 1 Jan 2099, 08:00: "The ledger is audited\."$/)
      .waitFor();
    expect(await findSerious(bo, "frozen")).toEqual([]);
    await visit(bo, service.url, "kpis");
    await button(bo, "Lift the freeze…").click();
    await bo.getByLabel("Note").fill("The audit is over.");
    await button(bo, "Lift it as bo").click();
    await freezeNotice(bo).waitFor({ state: "detached" });
    const focused = await bo.evaluate(() => document.activeElement?.tagName);
    expect(focused, "the pressed button is gone, so the heading has the focus").toBe("H1");
    await freezeNotice(ana).waitFor({ state: "detached" });
    const entries = [
      ...(await readEvents("event_type=service_frozen")),
      ...(await readEvents("event_type=service_unfrozen")),
    ];
    expect(entries.map(({ detail }) => JSON.parse(detail))).toMatchObject([
      { actor: "ana", note: "The ledger is audited.", until: "2099-01-01T08:00:00.000Z" },
      { actor: "bo", note: "The audit is over." },
    ]);
  });

  test("an emergency is approved and applied despite a freeze, and another person reviews it", async () => {
    const id = await service.propose({ risk: "high" });
    await service.post("api/product/freeze", { actor: "bo" });
    const ana = await open({ name: "ana", token: TOKEN });
    await visit(ana, service.url, `changes/${id}`);
    await button(ana, "Approve…").waitFor();
    expect(await button(ana, "Approve as an emergency…").count(), "ana is no emergency approver").toBe(0);

    const sam = await open({ name: "sam", token: TOKEN });
    await visit(sam, service.url, `changes/${id}`);
    await button(sam, "Approve as an emergency…").click();
    await button(sam, "Approve as an emergency as sam").click();
    expect(await sam.getByLabel("Note").evaluate((note: HTMLTextAreaElement) => note.validity.valueMissing)).toBe(true);
    await sam.getByLabel("Note").fill("Uploads fail for everybody.");
    await button(sam, "Approve as an emergency as sam").click();
    await sam.getByText("Your emergency consent is recorded, and will be reviewed.").waitFor();
    await sam.locator(".change-head .mark").getByText("Review due").waitFor();
    await visit(ana, service.url, "");
    const ready = ana.getByRole("region", { name: "Approved, not applied" });
    await ready.getByText("an emergency consent is to be reviewed by").waitFor();
    expect(await ana.getByRole("region", { name: "Review due" }).count(), "the change is listed once").toBe(0);
    await button(sam, "Apply…").click();
    await button(sam, "Apply as sam").click();
    await sam.getByText("The change is applied and verified.").waitFor();
    await showReasons(sam);
    await sam.getByText("Can't review:").waitFor();
    expect(await sam.getByText("Was it right?").count(), "sam may not review their own consent").toBe(0);
    await service.post("api/product/unfreeze", { actor: "bo" });

    await visit(ana, service.url, "");
    await ana.getByText("Nothing waits for your consent.").waitFor();
    await ana.getByRole("region", { name: "Review due" }).getByRole("link").first().waitFor();
    const due = ana.getByRole("region", { name: "Review due" });
    expect(await due.innerText(), "an applied change does not expire").not.toContain("expires");
    await due.getByRole("link").first().click();
    await button(ana, "Not justified…").waitFor();
    await ana.getByText("Was it right?").waitFor();
    const decisionButtons = ana.getByRole("region", { name: "Decision" }).getByRole("button");
    // The buttons that answer the question come first.
    await expect.poll(() => decisionButtons.allInnerTexts()).toEqual(["Justified…", "Not justified…", "Roll back…"]);
    await button(ana, "Not justified…").click();
    await ana.getByLabel("Note").fill("It could have waited.");
    expect(await findSerious(ana, "review")).toEqual([]);
    await button(ana, "Not justified as ana").click();
    await ana.getByText("Your review is recorded: not justified.").waitFor();
    await ana.getByText("Review due").waitFor({ state: "detached" });
    await ana.getByText("Emergency reviewed by ana, not accepted.").waitFor();
    expect(await service.get(`api/product/changes/${id}`)).toMatchObject({
      status: "applied",
      review: { verdict: "not_accepted", approver: "ana", note: "It could have waited." },
    });
  });
});
