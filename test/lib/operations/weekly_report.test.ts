/** The weekly reports of the simulated month: the complete text of one, and a comparison of all with the ledger. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import type { ActKind } from "../../support/month/ledger.ts";
import { sharedMonth } from "../../support/month/month.ts";
import { isWithin, computeFigures } from "../../support/month/figures.ts";
import { testClock } from "../../support/clock.ts";
import { filesInMemory, openOperations } from "./operations_service.ts";

let month: Month;
beforeAll(async () => void (month = await sharedMonth()));

const reportOf = (week: string): string => month.files.texts.get(`report-2026-${week}.md`)!;

/** Replaces the ids in a report by the names of the ledger. */
function named(report: string): string {
  let text = report;
  for (const { name, id } of month.ledger.changes.values()) text = text.replaceAll(id, name);
  return text;
}

/** First day, last day, and time of the report: the first cycle after the week. */
const WEEKS = {
  W42: ["2026-10-12", "2026-10-18", "2026-10-19T00:10:00.000Z"],
  W43: ["2026-10-19", "2026-10-25", "2026-10-26T00:10:00.000Z"],
  W44: ["2026-10-26", "2026-11-01", "2026-11-02T00:10:00.000Z"],
  W45: ["2026-11-02", "2026-11-08", "2026-11-09T00:10:00.000Z"],
  W46: ["2026-11-09", "2026-11-15", "2026-11-16T00:10:00.000Z"],
} as const;

describe.each(Object.entries(WEEKS))("the report of %s", (week, [from, to, at]) => {
  /** Returns the changes that a section links to. */
  const linkedChanges = (heading: string): string[] => {
    const section = named(reportOf(week))
      .split(/^## /m)
      .find((part) => part.startsWith(heading))!;
    return [...section.matchAll(/#\/changes\/([^)]*)\)/g)].map(([, name]) => name!).sort();
  };
  const changesWith = (...actKinds: ActKind[]): string[] =>
    month.ledger.acts
      .flatMap((act) => (actKinds.includes(act.did) && isWithin(act.at, from, to) ? [act.change!] : []))
      .sort();

  test("lists the changes that were applied or ended according to the ledger", () => {
    expect(linkedChanges("Applied")).toEqual(changesWith("applied"));
    expect(linkedChanges("Rolled back")).toEqual(
      changesWith("rolled_back", "denied", "withdrawn", "expired", "revoked", "lapsed"),
    );
  });

  test("lists the promises whose verdict is of this week according to the ledger", () => {
    const figures = computeFigures(month.ledger, at);
    const decided = figures.changes.filter(({ name }) => {
      const outcome = figures.computeOutcome(name);
      if (!outcome || outcome.kpi === null || outcome.state === "open" || outcome.verdict === "too_early") return false;
      return isWithin(outcome.closed_at, from, to);
    });
    expect(linkedChanges("Promises")).toEqual(decided.map(({ name }) => name).sort());
  });

  test("has at most one screen of lines", () => {
    expect(reportOf(week).split("\n").length).toBeLessThanOrEqual(45);
  });
});

test("the complete report of W44", () => {
  expect(named(reportOf("W44"))).toBe(`# Week 2026-W44 (2026-10-26 to 2026-11-01, UTC)

**Worse:** the effect E fell from 0.543 to 0.424. **Worse:** incident_rate rose by 0.027 (worse) to 0.065, after [“Wait longer between two retries”](#/changes/back-off) (rolled back since) and [“Double the size of the work queue”](#/changes/queue size); deal_win_rate fell by 0.01 (worse) to 0.19, after [“Send at most two mails a week”](#/changes/fewer mails), [“Double the size of the work queue”](#/changes/queue size) and 2 more, none of which names it. Better: csat rose by 0.05 (better) to 4.15, after [“Send at most two mails a week”](#/changes/fewer mails); nrr_quarterly rose by 0.005 (better) to 1.035, after [“Send each lead to the seller nearest to it”](#/changes/lead routing) and [“Cap discounts at 15 percent”](#/changes/discount cap).

## Applied

- northwind: [“Wait longer between two retries”](#/changes/back-off) (rolled back since), [“Accept sessions of the old key again”](#/changes/login outage)

## Rolled back or denied

- [“Wait longer between two retries”](#/changes/back-off): rolled back by a guardrail of the intent: incident_rate rose by 0.027 (worse)
- [“Shorten the sign-up form to three fields”](#/changes/short form): rolled back by chen@acme.example: “Sales could not reach leads without a phone number”
- [“Try the new search with one customer”](#/changes/beta search): expired before it was approved: “no consent within 120 hours”

## Waiting since this week, as of 2026-11-02 00:10

- [“Accept sessions of the old key again”](#/changes/login outage) waits for a review of its emergency by bo@acme.example, until 2026-11-02 02:40
- [“Score leads by their last visit”](#/changes/lead scoring) waits to be applied, until 2026-11-07 10:00

## Promises decided (a correlation, not a cause)

- [“Wait longer between two retries”](#/changes/back-off): **regressed**. incident_rate: expected to fall by 0.01, it rose by 0.027 (worse), shared with 1 other, a KPI of the whole product.
- [“Double the size of the work queue”](#/changes/queue size): **regressed**. incident_rate: expected to fall by 0.005, it rose by 0.027 (worse), shared with 1 other, a KPI of the whole product.
- [“Cap discounts at 15 percent”](#/changes/discount cap): missed. nrr_quarterly: expected to rise by 0.03, it rose by 0.005 (better), shared with 1 other, a KPI of the whole product.
- [“Send each lead to the seller nearest to it”](#/changes/lead routing): missed. nrr_quarterly: expected to rise by 0.01, it rose by 0.005 (better), shared with 1 other, a KPI of the whole product.
- [“Send at most two mails a week”](#/changes/fewer mails): missed. csat: expected to rise by 0.1, it rose by 0.05 (better), a KPI of the whole product.

## Due within seven days

Nothing.
`);
});

test("a week begins at midnight of the requested time zone", async () => {
  const files = filesInMemory();
  // Sunday evening in UTC is Monday in Auckland.
  const service = await openOperations({ clock: testClock("2026-01-04T20:00:00.000Z"), evolved: files });
  await service.bring("applied", { summary: "Late on Sunday" });
  await service.post("/api/action/run-now", { action: "write_report", tz: "Pacific/Auckland" });
  await service.post("/api/action/run-now", { action: "write_report" });
  expect([...files.texts.keys()].sort()).toEqual(["report-2026-W01.md", "report-2026-W02.md"]);
  const text = files.texts.get("report-2026-W02.md")!;
  expect(text).toContain("# Week 2026-W02 (2026-01-05 to 2026-01-11, Pacific/Auckland)\n");
  expect(text).toMatch(/## Applied\n\n- t1: \[“Late on Sunday”\]/);
  expect(text).toContain("as of 2026-01-05 09:00");
  expect((await service.post("/api/action/run-now", { action: "write_report", tz: "Mars" })).body).toMatchObject({
    code: "invalid_field",
    error: "tz must be a time zone such as Europe/Berlin",
  });
});

// The clock of these services starts in week 1 of 2026.
test("ids are links below the public address, if it is configured", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files, publicUrl: "https://gov.example/x" });
  const id = await service.bring("applied");
  await service.post("/api/action/run-now", { action: "write_report" });
  expect(files.texts.get("report-2026-W01.md")).toContain(`](https://gov.example/x/#/changes/${id})`);
});

// It lists eight changes of a kind, and four applied ones of a tenant.
test("a report lists the first of many changes and counts the others", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
  for (let count = 0; count < 12; count++) await service.propose({ target: `ui.n${count}` });
  for (let count = 0; count < 11; count++) await service.bring("denied", { target: `ui.d${count}` });
  for (let count = 0; count < 6; count++) await service.bring("applied", { target: `ui.a${count}` });
  await service.post("/api/action/run-now", { action: "write_report" });
  const text = files.texts.get("report-2026-W01.md")!;
  expect(text).toMatch(/^- t1: (?:\[[^\]]*\]\([^)]*\), ){4}and 2 more$/m);
  expect(text.match(/denied by/g)).toHaveLength(8);
  expect(text).toContain("denied by ana: no reason given\n- and 3 more\n");
  expect(text.match(/waits for the consent/g)).toHaveLength(8);
  expect(text).toContain("\n- and 4 more\n");
});
