/** Tests the state of a mandate that the verifier derives from its entries. */
import { expect, test } from "vitest";
import type { RecordedEntry } from "../../../local/verify/entry_detail.ts";
import { divideEntries, requireMandates } from "../../../local/verify/mandate_entries.ts";
import { applyEntry, emptyMandate } from "../../../local/verify/mandate_state.ts";
import { mandateStatement } from "../../../local/verify/mandate_statement.ts";
import { BOUNDS, type Detail, entry, intent, SYSTEMS } from "./signed_mandates.ts";

const KNOWN = intent({ owners: [], mandates: { targets: ["price.*"], max_days: 5, max_per_day: 9, max_open: 4 } });
const keyOf = (name: string): string => KNOWN.keys.get(name)![0]!.id;

const NOT_NEXT = "an entry of its mandate does not follow from the earlier entries";
const WIDER = "a narrowing of its mandate makes a bound wider";

type Step = readonly [event: string, detail?: Detail];
const signed = (over: Detail = {}): Step => ["signed", { revision: 1, bounds: BOUNDS, systems: SYSTEMS, ...over }];
const active = signed({ status: "active" });
const suspended: Step = ["suspended", { revision: 2 }];
const resumed = (revision: number, status = "suspended"): Step => ["resumed", { revision, status, approver: "bo" }];
const narrowed = (revision: number, over: Detail = {}): Step => [
  "narrowed",
  { revision, narrow: { max_open: 2 }, ...over },
];
const ended = (revision: number): Step => ["ended", { revision }];
const loss: Step = ["loss"];

const entries = (steps: readonly Step[]): RecordedEntry[] =>
  steps.map(([event, detail], at) => entry(at + 1, event === "loss" ? "loss_accepted" : `mandate_${event}`, detail));

/** Derives the state from entries that are numbered in order and signed by the people they name. */
function fold(steps: readonly Step[]) {
  const all = entries(steps);
  const grounds = {
    intents: new Map([["m", KNOWN]]),
    signed: new Map(all.map((one) => [one.entry.id, keyOf(one.detail["approver"] as string)])),
  };
  const mandate = emptyMandate();
  for (const one of all) {
    const why = applyEntry(mandate, one, grounds);
    if (why !== undefined) return { why, at: one.entry.id };
  }
  const { status: state, revision, countsFrom, signatures, resumes, first, bounds } = mandate;
  const ids = (list: readonly RecordedEntry[] | undefined) => list?.map((one) => one.entry.id);
  const open = bounds["max_open"];
  return {
    state,
    revision,
    countsFrom,
    signatures: ids(signatures),
    resumes: ids(resumes),
    first: first?.entry.id,
    open,
  };
}

/** `countsFrom`: id of the entry that activated the mandate; `first`: of its first signature; `open`: its `max_open`. */
const ACTIVE = { state: "active", revision: 1, countsFrom: 1, signatures: [1], resumes: undefined, first: 1, open: 3 };
const DRAFT = { ...ACTIVE, state: "draft", countsFrom: 0 };
const SUSPENDED = { ...ACTIVE, state: "suspended", revision: 2, resumes: [] };

test.each<[last: string, steps: Step[], expected: object]>([
  ["nothing", [], { ...DRAFT, signatures: [], first: undefined, open: undefined }],
  ["one signature of two", [signed()], DRAFT],
  ["the last signature", [active], ACTIVE],
  ["two signatures", [signed(), active], { ...ACTIVE, countsFrom: 2, signatures: [1, 2] }],
  ["a signature of other bounds", [signed(), signed({ bounds: { ...BOUNDS, max_open: 9 } })], { why: NOT_NEXT, at: 2 }],
  ["a signature of other systems", [signed(), signed({ systems: [] })], { why: NOT_NEXT, at: 2 }],
  ["a signature without systems", [signed(), signed({ systems: undefined })], { why: NOT_NEXT, at: 2 }],
  [
    "two signatures without systems",
    [signed({ systems: undefined }), signed({ systems: null })],
    { ...DRAFT, signatures: [1, 2] },
  ],
  [
    "bounds that are not an object",
    [signed({ bounds: [1] }), signed({ bounds: "x" })],
    { ...DRAFT, signatures: [1, 2], open: undefined },
  ],
  ["a signature of an active mandate", [active, active], { why: NOT_NEXT, at: 2 }],
  ["a signature of another revision", [signed({ revision: 2 })], { why: NOT_NEXT, at: 1 }],
  ["a signature without revision", [signed({ revision: undefined })], { why: NOT_NEXT, at: 1 }],
  ["a narrowing", [active, narrowed(2)], { ...ACTIVE, revision: 2, open: 2 }],
  ["a narrowing of the revision before", [active, narrowed(1)], { why: NOT_NEXT, at: 2 }],
  ["a narrowing of a draft", [signed(), narrowed(2)], { why: NOT_NEXT, at: 2 }],
  ["a wider narrowing", [active, narrowed(2, { narrow: { max_open: 4 } })], { why: WIDER, at: 2 }],
  [
    "a narrowing by a person who may not sign",
    [active, narrowed(2, { approver: "fin" })],
    {
      why: "a narrowing of its mandate is not signed by a person who may sign the mandate",
      at: 2,
    },
  ],
  ["a suspension", [active, suspended], SUSPENDED],
  ["a suspension of a draft", [signed(), suspended], { why: NOT_NEXT, at: 2 }],
  ["a suspension without any signature", [suspended], { why: NOT_NEXT, at: 1 }],
  ["one signature of a resumption", [active, suspended, resumed(2)], { ...SUSPENDED, resumes: [3] }],
  [
    "a resumption",
    [active, suspended, resumed(2), resumed(2, "active")],
    { ...ACTIVE, revision: 2, countsFrom: 4, resumes: [3, 4] },
  ],
  [
    "a resumption of an active mandate",
    [active, suspended, resumed(2, "active"), resumed(2, "active")],
    {
      ...ACTIVE,
      ...{ revision: 2, countsFrom: 4, resumes: [4] },
    },
  ],
  ["a resumption of a draft", [signed(), resumed(1)], { why: NOT_NEXT, at: 2 }],
  [
    "a narrowing while it is resumed",
    [active, suspended, resumed(2), narrowed(3)],
    { ...SUSPENDED, revision: 3, open: 2 },
  ],
  [
    "a narrowing after it was resumed",
    [active, suspended, resumed(2, "active"), narrowed(3)],
    {
      ...ACTIVE,
      ...{ revision: 3, countsFrom: 3, resumes: [3], open: 2 },
    },
  ],
  ["an end", [active, ended(2)], { ...ACTIVE, state: "ended", revision: 2 }],
  ["an end while it is suspended", [active, suspended, ended(3)], { ...SUSPENDED, state: "ended", revision: 3 }],
  ["an end of a draft", [signed(), ended(2)], { ...DRAFT, state: "ended", revision: 2 }],
  ["an end without any signature", [ended(2)], { why: NOT_NEXT, at: 1 }],
  ["a second end", [active, ended(2), ended(3)], { why: NOT_NEXT, at: 3 }],
  ["a narrowing after its end", [active, ended(2), narrowed(3)], { why: NOT_NEXT, at: 3 }],
  ["a signature after its end", [signed(), ended(2), signed({ revision: 2 })], { why: NOT_NEXT, at: 3 }],
  ["a loss of a draft's signatures", [signed(), loss, active], { ...ACTIVE, countsFrom: 3, signatures: [3] }],
  ["a loss while it is active", [active, loss], { ...SUSPENDED, revision: 1 }],
  ["a loss while it is resumed", [active, suspended, resumed(2), loss], SUSPENDED],
  ["a loss after its end", [active, ended(2), loss], { ...ACTIVE, state: "ended", revision: 2 }],
])("a mandate after %s", (_, steps, expected) => {
  expect(fold(steps)).toEqual(expected);
});

test.each<[what: string, events: string, mandateIds: number[]]>([
  ["the change alone", "change_proposed consent_decision change_applied", []],
  ["a mandate and its change", "mandate_signed change_proposed consent_decision", [1]],
  ["losses around both", "loss_accepted mandate_signed loss_accepted change_proposed loss_accepted", [2, 3]],
  ["a loss and no proposal", "mandate_signed loss_accepted", [1, 2]],
  ["a loss and no mandate", "loss_accepted change_proposed", []],
  ["a mandate after the proposal", "change_proposed mandate_signed loss_accepted", [2]],
])("the entries of mandates are found for %s", (_, events, expected) => {
  const all = events.split(" ").map((event, at) => entry(at + 1, event));
  const { life, mandates } = divideEntries(all);
  expect(mandates.map((one) => one.entry.id)).toEqual(expected);
  expect(life).toEqual(all.filter((one) => !mandates.includes(one)));
});

test.each<[which: string, overs: object[], found: unknown[]]>([
  ["in order", [{}, {}], []],
  ["about a change", [{}, { changeId: "chg_1" }], [[2, "form", "it is about a mandate, but has a change_id"]]],
  ["of another log", [{ origin: "p" }], [[1, "origin", "its origin is not that of the first entry"]]],
  [
    "twice",
    [{ id: 7 }, { id: 7 }, { id: 6 }],
    [7, 6].map((id) => [id, "id", "its id is not higher than that of the previous entry"]),
  ],
])("entries about mandates that are %s", (_, overs, expected) => {
  const found: unknown[] = [];
  const all = overs.map((over, at) => entry(at + 1, "mandate_signed", {}, over));
  requireMandates(all, entry(1, "change_proposed"), (...finding) => found.push(finding));
  expect(found).toEqual(expected);
});

test("without the change's first entry an entry about a mandate has a finding on its origin", () => {
  const found: unknown[] = [];
  requireMandates([entry(1, "mandate_signed")], undefined, (id, rule) => found.push([id, rule]));
  expect(found).toEqual([[1, "origin"]]);
});

test.each<[decision: string, detail: Detail, statement: string | undefined]>([
  [
    "mandate",
    { bounds: { b: 1, a: [] }, systems: ["s"] },
    '{"a":[],"b":1,"decision":"mandate","mandate_id":"m1","systems":["s"]}',
  ],
  ["mandate", { bounds: [] }, undefined],
  [
    "mandate_narrow",
    { revision: 3, narrow: { x: null } },
    '{"decision":"mandate_narrow","mandate_id":"m1","narrow":{"x":null},"revision":2}',
  ],
  ["mandate_resume", { revision: 3 }, '{"decision":"mandate_resume","mandate_id":"m1","revision":3}'],
  ["mandate_revoke", { revision: 3, narrow: {} }, '{"decision":"mandate_revoke","mandate_id":"m1","revision":2}'],
  ["mandate_revoke", { revision: 0 }, undefined],
])("the statement of %s over %j", (decision, detail, expected) => {
  expect(mandateStatement({ decision }, { mandate_id: "m1", ...detail })).toBe(expected);
});
