/** The judge judges: right answers pass, and every sort of wrong one is seen. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Ledger } from "./month/ledger.ts";
import { monthToRead } from "./month/month.ts";
import { BO, CHEN, DANA, ERIN } from "./month/who_and_what.ts";
import { judge, judgeAnswer, type Question, reportOf, shortfallsOf } from "./questions.ts";

const QUESTIONS = {
  why: { ask: "Why was the short form rolled back?", language: "en", must: ["short form", CHEN, "phone number"] },
  drift: { ask: "Is anything drifting?", language: "en", must: ["banner"], mustNot: ["queue size"] },
  erin: { ask: "What waits for me?", by: ERIN, language: "en", must: ["bundle price"], mustNot: ["data retention"] },
  count: { ask: "How many changes did Dana propose last week?", language: "en", must: [3] },
  whyZh: { ask: "为什么拒绝了深色模式？", language: "zh", must: ["dark mode", BO, /accessibility/] },
  driftZh: { ask: "有什么漂移了吗？", language: "zh", must: ["banner"] },
  lapsedZh: { ask: "什么失效了？", language: "zh", must: ["lead scoring"], mustNot: ["merge accounts"] },
  countZh: { ask: "globex 有多少待审批的变更？", language: "zh", must: [1, "reminder mails"] },
} as const satisfies Record<string, Question>;
type Name = keyof typeof QUESTIONS;

let ledger: Ledger;
let right: Record<Name, string>;
beforeAll(async () => {
  const month = await monthToRead();
  ledger = month.ledger;
  const { idOf } = month;
  right = {
    why: `${idOf("short form")}: rolled back by ${CHEN} on 2026-10-29T09:00:00.000Z: “Sales could not reach leads without a phone number”`,
    drift: "One change drifts: ui.banner of t1 is missing since 2026-11-03T23:50:00.000Z.",
    erin: `${idOf("bundle price")} on pricing.bundle waits for ${ERIN}; it expires on 2026-11-18T11:00:00.000Z.`,
    count: "3 changes.",
    whyZh: `ui.dark_mode：${BO} 已拒绝：“Not before the accessibility review”`,
    driftZh: `${idOf("banner")} 发生漂移`,
    lapsedZh: "crm.lead_scoring 已失效",
    countZh: "1 项：mail.reminders",
  };
});

const judged = (name: Name, answer = right[name]) => judgeAnswer(ledger, QUESTIONS[name], answer);

describe("a right answer", () => {
  test.each(Object.keys(QUESTIONS) as Name[])("%s", (name) =>
    expect(judged(name)).toMatchObject({ answered: "fully", untrue: [], falseNothing: false }),
  );
});

test("an answer that lacks a fact is part of one, or none", () => {
  expect(judged("why", `signup.short_form was rolled back by ${CHEN}.`)).toMatchObject({
    answered: "partly",
    missing: ["phone number"],
  });
  expect(judged("count", "13 changes; 3.5 a week")).toMatchObject({ answered: "not" });
});

test("that there is nothing, where there is something, is seen", () => {
  expect(judged("drift", "I found nothing about that.")).toMatchObject({ answered: "not", falseNothing: true });
  expect(judged("driftZh", "没有漂移。")).toMatchObject({ falseNothing: true });
  expect(judged("erin", "No change waits for you.")).toMatchObject({ falseNothing: true });
});

test("a fact that must not be there is untrue", () =>
  expect(judged("lapsedZh", "crm.lead_scoring 已失效\ncrm.merge_accounts 已失效").untrue).toEqual([
    "says merge accounts",
    expect.stringMatching(/^merge accounts was never 已失效/),
  ]));

test.each([
  ["another person", `crm.queue_size was applied by ${DANA}`, `${DANA} had no part in queue size`],
  ["another tenant", "crm.queue_size of northwind", "queue size is not of northwind"],
  ["an act that never was", "search.beta was rolled back", "beta search was never rolled back"],
  ["an apply that never was", "limits.seats is applied", "seat limit was never applied"],
  [
    "a time at which nothing was",
    "limits.seats was approved on 2026-11-03",
    "nothing was at 2026-11-03 with seat limit",
  ],
  ["a change that is none", "chg_00000000-0000-7000-8000-ffffffffffff is pending", "no change is chg_"],
])("%s is untrue, also where nobody thought of it", (_, answer, claim) =>
  expect(judged("why", answer).untrue).toEqual([expect.stringContaining(claim)]),
);

test.each([
  "crm.merge_accounts is approved and was never applied; it lapses on 2026-11-17T09:00:00.000Z",
  "search.beta cannot be rolled back",
  "limits.seats: “denied by dana@acme.example for northwind”, said gil",
])("no claim is seen where none is: %s", (answer) => expect(judged("why", answer).untrue).toEqual([]));

test("a set passes with 85 % fully answered, nothing untrue and no false nothing, and not with less", async () => {
  const set = Object.values(QUESTIONS);
  const names = Object.keys(QUESTIONS) as Name[];
  const answers = (over: Partial<Record<Name, string>>) => {
    const said = names.map((name) => over[name] ?? right[name]);
    return judge(ledger, set, async () => said.shift()!);
  };
  expect(shortfallsOf(await answers({}))).toEqual([]);
  expect(shortfallsOf(await answers({ count: "I do not understand." }))).toEqual([]);
  const two = await answers({ count: "I do not understand.", whyZh: "不明白。" });
  expect(shortfallsOf(two)).toEqual(["6 of 8 fully answered; 85 % must be"]);
  expect(reportOf(two)).toMatch(
    /^8 questions: 6 fully, 0 partly, 2 not answered; 0 untrue, 0 false nothings\n- How many/,
  );
  const lie = await answers({ count: "3: limits.seats was applied by bo@acme.example" });
  expect(shortfallsOf(lie)).toEqual(["1 say what is not so; none may"]);
  const nothing = await answers({ drift: "Nothing drifts." });
  expect(shortfallsOf(nothing)).toEqual(["1 say that there is nothing where there is; none may"]);
});
