/** Whatever is asked is answered; what is asked in a turned or narrowed way is not answered as something else. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import { simulatedMonth } from "../../support/month/month.ts";

let month: Month;
beforeAll(async () => void (month = await simulatedMonth()));

const ask = async (question: string, by?: string): Promise<string> => (await month.ask(question, by)).reply.text;

test.each([
  "what happened at 2:30?",
  "what did frank@acme.example do?",
  "changes on a-b/c:d_e.f?",
  "by (a+)+$ [x]{2,}|^.*\\",
  "🙈🙉🙊",
  "?",
  "\u202e\u200b",
  "租户？？？",
  "chg_",
  "chg_00000000",
  "2026-99-99 and 99月99日 and 2026-w99 and 9999-12-31",
  "since 0000-01-01",
])("%j", async (question) => {
  expect(await ask(question)).not.toBe("");
});

test("eight thousand characters are answered, whatever they are", async () => {
  const pieces = [
    "a",
    "1",
    "-",
    ".",
    "last ",
    "上",
    "the in over ",
    "please ",
    "approve ",
    "a.",
    "2026-",
    "周",
    "between ",
  ];
  for (const piece of pieces) expect(await ask(piece.repeat(8000 / piece.length)), piece).not.toBe("");
});

const PENDING_OF_ERIN = /No change of tenant northwind waits for a consent of erin@acme\.example/;

test.each<[question: string, by: string | undefined, says: RegExp, saysNot?: RegExp]>([
  // What narrows it is said.
  ["What waits for me in tenant northwind?", "erin@acme.example", PENDING_OF_ERIN],
  [
    "What waits for me in tenant globex?",
    "bo@acme.example",
    /^2 changes|^1 change of tenant globex/,
    /mail\.loop_guard/,
  ],
  // The opposite is not answered.
  ["Which changes except t1 were denied?", undefined, /I do not understand “except”/, /ui\.dark_mode \(t1\),/],
  ["除了 t1 之外有哪些变更被拒绝？", undefined, /我不理解/, /ui\.dark_mode（t1）/],
  ["What will happen tomorrow?", undefined, /^Due on 2026-11-17/, /What the log tells/],
  ["What is due next week?", undefined, /^Due from 2026-11-23 to 2026-11-29, the soonest first: nothing\.$/],
  ["What expires by Wednesday?", undefined, /data\.retention/, /guest_checkout/],
  ["Which changes of t1 were not approved?", undefined, /I do not understand “not”/],
  ["Which targets may nobody change?", undefined, /I do not understand/, /guest_checkout \(t1\)/],
  // What is left out is said.
  ["Which changes were denied or rolled back?", undefined, /that were denied: 3\.[^]*rolled back: 3\./, /left out/],
  ["What was pulled?", undefined, /rolled back: 3\.[^]*withdrawn: 1\./],
  // Of several questions each is answered, and what follows on is a part of the one before it.
  [
    "What is drifting? Is the log intact?",
    undefined,
    /^“What is drifting\?”\nOne target[^]*“Is the log intact\?”\nThe audit log is/,
  ],
  ["Who denied dark mode? And why?", undefined, /accessibility review/, /“And why/],
  // What was understood and is not in the answer is named.
  ["Which tasks of northwind are open?", undefined, /left out of this answer: “northwind”/],
  ["How is csat since Monday?", undefined, /left out of this answer: “since monday”/],
  ["会员等级有哪些变更？", undefined, /“会员/],
  ["Which changes did Ana and Bo both approve?", undefined, /left out of this answer: “bo@acme\.example”/, /No person/],
  ["Which of Dana's proposals did Ana approve?", undefined, /left out of this answer: “ana@acme\.example”/],
  ["What happened on Monday and Wednesday?", undefined, /left out of this answer: “2026-11/],
  ["What happened yesterday and today?", undefined, /from 2026-11-15 to 2026-11-16: \d+ entries/, /left out/],
  ["What happened between Monday and Wednesday?", undefined, /from 2026-11-09 to 2026-11-11: \d+ entries/, /left out/],
  // What is not done, and nothing else.
  [
    "Which tasks haven't been done yet?",
    undefined,
    /^Tasks: 1 queued[^]*List what is overdue/,
    /completed\b[^]*completed|not understand/,
  ],
  ["哪些任务还没做？", undefined, /List what is overdue/, /不理解/],
  [
    "Which changes were proposed by Dana in October and applied in November?",
    undefined,
    /left out of this answer: “2026-11/,
  ],
  ["Who applied last?", undefined, /mail\.loop_guard[^]*applied by ana@acme\.example/, /Who applied most/],
  ["Who approved nothing?", undefined, /I do not understand “nothing”/],
  ["Which goals are missed?", undefined, /nrr_quarterly 1\.05/],
  ["Is incident_rate better?", undefined, /incident_rate 0\.028/],
  // Each way in which something ended, and no other.
  ["What lapsed?", undefined, /crm\.lead_scoring/, /search\.beta/],
  ["Which changes were denied or withdrawn?", undefined, /: 4\./, /lapsed|expired/],
  // Whoever consented to what still waits has approved.
  ["Who approved data retention?", undefined, /approved by ana@acme\.example/, /none\./],
  ["Which changes did Erin refuse?", undefined, /pricing\.rounding/],
  ["Who may review mail loop?", undefined, /may be reviewed by bo@acme\.example/, /nobody's consent/],
  ["Which tasks failed?", undefined, /^Tasks: 1 queued, 0 running, 2 completed, 0 failed/],
  ["What is due next?", undefined, /2026-11-17 09:00 it lapses without its apply: \S+ crm\.merge_accounts/],
  ["Who froze the applies?", undefined, /applies frozen by ana@acme\.example: “Quarter end”/, /about drift/],
])("%s", async (question, by, says, saysNot) => {
  const text = await ask(question, by);
  expect(text).toMatch(says);
  if (saysNot) expect(text.split("From memory:")[0]).not.toMatch(saysNot);
});
