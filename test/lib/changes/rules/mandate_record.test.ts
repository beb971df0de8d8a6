/** The fold of the entries of a mandate: valid and invalid sequences. */
import { expect, test } from "vitest";
import { foldMandate, type MandateDetail, type MandateEvent } from "../../../../lib/changes/rules/mandate_record.ts";

// A literal within a literal (`...{ }`) only puts short fields on one line.
const BOUNDS = {
  ...{ agent: "agent:pricing", targets: ["price.*"], kinds: ["config"], tenants: ["t1"] },
  ...{ max_per_day: 10, max_open: 5, until: "2026-12-20T00:00:00.000Z" },
};
const DRAFT = {
  ...{ bounds: BOUNDS, systems: [{ name: "flags" }], created_at: "2026-11-01T00:00:00.000Z", draft_note: "For sales." },
} as const;

type Step = [event_type: string, revision: number, detail?: object];
const SIGN: Step = ["mandate_signed", 1, { ...DRAFT, status: "draft", approver: "ana" }];
const ACTIVATE: Step = ["mandate_signed", 1, { ...DRAFT, status: "active", approver: "bo" }];
const SUSPEND: Step = ["mandate_suspended", 2, { suspension: { reason: "rollback", change_id: "chg_1" } }];
const RESUME: Step = ["mandate_resumed", 2, { status: "suspended", approver: "ana" }];
const LAST_RESUME: Step = ["mandate_resumed", 2, { status: "active", approver: "bo" }];
const NARROW: Step = ["mandate_narrowed", 2, { narrow: { max_open: 1 } }];
const END: Step = ["mandate_ended", 2, { reason: "revoked", approver: "ana" }];
const edit = ([type, revision, detail]: Step, overrides: object): Step => [type, revision, { ...detail, ...overrides }];
const revise = ([type, , detail]: Step, revision: number): Step => [type, revision, detail!];

const toTimestamp = (id: number): string => `2026-11-0${id}T12:00:00.000Z`;
const fold = (...steps: Step[]) =>
  foldMandate(
    steps.map(([event_type, revision, detail], index): MandateEvent => {
      const id = index + 1;
      return {
        id,
        timestamp: toTimestamp(id),
        event_type,
        detail: { mandate_id: "man_1", revision, ...detail } as MandateDetail,
      };
    }),
  );
const signature = (approver: string, entry: number) => ({ approver, entry, at: toTimestamp(entry) });

test("a mandate is a draft until its last signature, which makes it active", () => {
  const draft = {
    ...{ mandate_id: "man_1", revision: 1, state: "draft", bounds: BOUNDS, systems: DRAFT.systems },
    ...{ created_at: DRAFT.created_at, note: "For sales.", signatures: [signature("ana", 1)], signed_at: null },
    ...{ counts_from: 0, suspension: null, resumes: [], ended: null, audit: [1] },
  };
  expect(fold(SIGN)).toEqual(draft);
  expect(fold(SIGN, ACTIVATE)).toEqual({
    ...draft,
    ...{
      state: "active",
      signatures: [signature("ana", 1), signature("bo", 2)],
      signed_at: toTimestamp(2),
      counts_from: 2,
    },
    audit: [1, 2],
  });
  expect(fold(edit(SIGN, { draft_note: undefined }))).toMatchObject({ note: "" });
});

test("a suspension ends with the last signature of its resumption", () => {
  const suspended = fold(SIGN, ACTIVATE, SUSPEND);
  expect(suspended).toMatchObject({
    ...{ state: "suspended", revision: 2, counts_from: 2, resumes: [], audit: [1, 2, 3] },
    suspension: { reason: "rollback", change_id: "chg_1", at: toTimestamp(3) },
  });
  const half = fold(SIGN, ACTIVATE, SUSPEND, RESUME);
  expect(half).toMatchObject({ state: "suspended", resumes: [signature("ana", 4)], suspension: suspended!.suspension });
  const active = fold(SIGN, ACTIVATE, SUSPEND, RESUME, LAST_RESUME);
  expect(active).toMatchObject({ state: "active", suspension: null, counts_from: 5, revision: 2 });
  expect(active!.resumes).toEqual([signature("ana", 4), signature("bo", 5)]);
  const suspendedAgain = fold(SIGN, ACTIVATE, SUSPEND, RESUME, LAST_RESUME, revise(SUSPEND, 3));
  expect(suspendedAgain).toMatchObject({ state: "suspended", revision: 3, resumes: [] });
});

test("an active mandate is suspended by the first new signature after a loss", () => {
  // An accepted loss of entries suspends mandates without an entry about them. So this signature comes while the fold has "active".
  expect(fold(SIGN, ACTIVATE, revise(RESUME, 1))).toMatchObject({
    ...{
      state: "suspended",
      suspension: { reason: "loss_accepted", at: toTimestamp(3) },
      resumes: [signature("ana", 3)],
    },
  });
});

test("narrowing keeps the state, and deletes the signatures of an incomplete resumption", () => {
  expect(fold(SIGN, ACTIVATE, NARROW)).toMatchObject({
    state: "active",
    revision: 2,
    bounds: { ...BOUNDS, max_open: 1 },
  });
  // With `LAST_RESUME` the resumption is complete, and with `RESUME` it is not.
  const resumed = fold(SIGN, ACTIVATE, SUSPEND, LAST_RESUME, revise(NARROW, 3));
  expect(resumed!.resumes).toEqual([signature("bo", 4)]);
  const suspended = fold(SIGN, ACTIVATE, SUSPEND, RESUME, revise(NARROW, 3));
  expect(suspended).toMatchObject({ state: "suspended", bounds: { max_open: 1 } });
  expect(suspended!.resumes).toEqual([]);
});

test.each<[string, Step, object]>([
  ["revoked by a person", END, { reason: "revoked", approver: "ana", at: toTimestamp(3) }],
  [
    "past its end",
    ["mandate_ended", 2, { reason: "expired", approver: null }],
    { reason: "expired", at: toTimestamp(3) },
  ],
])("a mandate that is %s has ended, and no entry may follow", (_, end, ended) => {
  const mandate = fold(SIGN, ACTIVATE, end);
  expect(mandate).toMatchObject({ state: "ended", revision: 2 });
  expect(mandate!.ended).toEqual(ended);
  expect(fold(SIGN, ACTIVATE, end, revise(NARROW, 3))).toBeUndefined();
  expect(fold(SIGN, ACTIVATE, end, revise(END, 3))).toBeUndefined();
});

test.each<[string, ...Step[]]>([
  ["a first entry that is no signature", edit(NARROW, DRAFT)],
  ["a first signature without an id", edit(SIGN, { mandate_id: undefined })],
  ["a first signature without bounds", edit(SIGN, { bounds: undefined })],
  ["a first signature without systems", edit(SIGN, { systems: undefined })],
  ["a first signature without the draft's time", edit(SIGN, { created_at: undefined })],
  ["a first signature of another revision", revise(SIGN, 2)],
  ["a signature by nobody", edit(SIGN, { approver: null })],
  ["a signature of another status", edit(SIGN, { status: "suspended" })],
  ["a signature of other bounds", SIGN, edit(ACTIVATE, { bounds: { ...BOUNDS, max_open: 6 } })],
  ["a signature of other systems", SIGN, edit(ACTIVATE, { systems: [] })],
  ["an entry of another mandate", SIGN, edit(ACTIVATE, { mandate_id: "man_2" })],
  ["a signature of an active mandate", SIGN, ACTIVATE, ACTIVATE],
  ["an entry that skips a revision", SIGN, ACTIVATE, revise(SUSPEND, 3)],
  ["an entry that repeats a revision", SIGN, ACTIVATE, revise(SUSPEND, 1)],
  ["an event that is none of a mandate", SIGN, ACTIVATE, revise(["change_applied", 2, {}], 2)],
  ["a narrowing of a draft", SIGN, NARROW],
  ["a narrowing without bounds", SIGN, ACTIVATE, edit(NARROW, { narrow: undefined })],
  ["a narrowing that widens", SIGN, ACTIVATE, edit(NARROW, { narrow: { max_open: 6 } })],
  ["a suspension of a draft", SIGN, SUSPEND],
  ["a suspension of a suspended mandate", SIGN, ACTIVATE, SUSPEND, revise(SUSPEND, 3)],
  ["a suspension without a reason", SIGN, ACTIVATE, edit(SUSPEND, { suspension: undefined })],
  ["a resumption of a draft", SIGN, revise(RESUME, 1)],
  ["a resumption by nobody", SIGN, ACTIVATE, SUSPEND, edit(LAST_RESUME, { approver: undefined })],
  ["a resumption of another status", SIGN, ACTIVATE, SUSPEND, edit(LAST_RESUME, { status: "draft" })],
  ["an end for an unknown reason", SIGN, ACTIVATE, edit(END, { reason: "lost" })],
])("%s is rejected", (_, ...steps) => {
  expect(fold(...steps)).toBeUndefined();
  if (steps.length > 1) expect(fold(...steps.slice(0, -1))).toBeDefined();
});
