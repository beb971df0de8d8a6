/** The fold of the entries of a mandate: valid and invalid sequences. */
import { expect, test } from "vitest";
import { foldMandate, type MandateDetail, type MandateEvent } from "../../../../lib/changes/rules/mandate_record.ts";

const BOUNDS = {
  ...{ agent: "agent:pricing", targets: ["price.*"], kinds: ["config"], tenants: ["t1"] },
  ...{ max_per_day: 10, max_open: 5, until: "2026-12-20T00:00:00.000Z" },
};
const DRAFT = {
  ...{ bounds: BOUNDS, systems: [{ name: "flags" }], created_at: "2026-11-01T00:00:00.000Z", draft_note: "For sales." },
} as const;

type Step = [event_type: string, revision: number, detail?: object];
const FIRST_SIGNATURE: Step = ["mandate_signed", 1, { ...DRAFT, status: "draft", approver: "ana" }];
const ACTIVATE: Step = ["mandate_signed", 1, { ...DRAFT, status: "active", approver: "bo" }];
const SUSPEND: Step = ["mandate_suspended", 2, { suspension: { reason: "rollback", change_id: "chg_1" } }];
const RESUME: Step = ["mandate_resumed", 2, { status: "suspended", approver: "ana" }];
const COMPLETE_RESUMPTION: Step = ["mandate_resumed", 2, { status: "active", approver: "bo" }];
const NARROW: Step = ["mandate_narrowed", 2, { narrow: { max_open: 1 } }];
const END: Step = ["mandate_ended", 2, { reason: "revoked", approver: "ana" }];
const withDetail = ([type, revision, detail]: Step, overrides: object): Step => [
  type,
  revision,
  { ...detail, ...overrides },
];
const withRevision = ([type, , detail]: Step, revision: number): Step => [type, revision, detail!];

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
  expect(fold(FIRST_SIGNATURE)).toEqual(draft);
  expect(fold(FIRST_SIGNATURE, ACTIVATE)).toEqual({
    ...draft,
    ...{
      state: "active",
      signatures: [signature("ana", 1), signature("bo", 2)],
      signed_at: toTimestamp(2),
      counts_from: 2,
    },
    audit: [1, 2],
  });
  expect(fold(withDetail(FIRST_SIGNATURE, { draft_note: undefined }))).toMatchObject({ note: "" });
});

test("a suspension ends with the last signature of its resumption", () => {
  const suspended = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND);
  expect(suspended).toMatchObject({
    ...{ state: "suspended", revision: 2, counts_from: 2, resumes: [], audit: [1, 2, 3] },
    suspension: { reason: "rollback", change_id: "chg_1", at: toTimestamp(3) },
  });
  const half = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND, RESUME);
  expect(half).toMatchObject({ state: "suspended", resumes: [signature("ana", 4)], suspension: suspended!.suspension });
  const active = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND, RESUME, COMPLETE_RESUMPTION);
  expect(active).toMatchObject({ state: "active", suspension: null, counts_from: 5, revision: 2 });
  expect(active!.resumes).toEqual([signature("ana", 4), signature("bo", 5)]);
  const again = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND, RESUME, COMPLETE_RESUMPTION, withRevision(SUSPEND, 3));
  expect(again).toMatchObject({ state: "suspended", revision: 3, resumes: [] });
});

test("an active mandate is suspended by the first new signature after a loss", () => {
  expect(fold(FIRST_SIGNATURE, ACTIVATE, withRevision(RESUME, 1))).toMatchObject({
    ...{
      state: "suspended",
      suspension: { reason: "loss_accepted", at: toTimestamp(3) },
      resumes: [signature("ana", 3)],
    },
  });
});

test("narrowing keeps the state, and deletes signatures of a resumption", () => {
  expect(fold(FIRST_SIGNATURE, ACTIVATE, NARROW)).toMatchObject({
    state: "active",
    revision: 2,
    bounds: { ...BOUNDS, max_open: 1 },
  });
  const resumed = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND, COMPLETE_RESUMPTION, withRevision(NARROW, 3));
  expect(resumed!.resumes).toEqual([signature("bo", 4)]);
  const suspended = fold(FIRST_SIGNATURE, ACTIVATE, SUSPEND, RESUME, withRevision(NARROW, 3));
  expect(suspended).toMatchObject({ state: "suspended", bounds: { max_open: 1 } });
  expect(suspended!.resumes).toEqual([]);
});

test.each<[string, Step, object]>([
  ["revoked by a person", END, { reason: "revoked", approver: "ana", at: toTimestamp(3) }],
  ["over", ["mandate_ended", 2, { reason: "expired", approver: null }], { reason: "expired", at: toTimestamp(3) }],
])("a mandate that is %s has ended, and no entry may follow", (_, end, ended) => {
  const mandate = fold(FIRST_SIGNATURE, ACTIVATE, end);
  expect(mandate).toMatchObject({ state: "ended", revision: 2 });
  expect(mandate!.ended).toEqual(ended);
  expect(fold(FIRST_SIGNATURE, ACTIVATE, end, withRevision(NARROW, 3))).toBeUndefined();
  expect(fold(FIRST_SIGNATURE, ACTIVATE, end, withRevision(END, 3))).toBeUndefined();
});

test.each<[string, ...Step[]]>([
  ["a first entry that is no signature", withDetail(NARROW, DRAFT)],
  ["a first signature without an id", withDetail(FIRST_SIGNATURE, { mandate_id: undefined })],
  ["a first signature without bounds", withDetail(FIRST_SIGNATURE, { bounds: undefined })],
  ["a first signature without systems", withDetail(FIRST_SIGNATURE, { systems: undefined })],
  ["a first signature without the draft's time", withDetail(FIRST_SIGNATURE, { created_at: undefined })],
  ["a first signature of another revision", withRevision(FIRST_SIGNATURE, 2)],
  ["a signature by nobody", withDetail(FIRST_SIGNATURE, { approver: null })],
  ["a signature of another status", withDetail(FIRST_SIGNATURE, { status: "suspended" })],
  ["a signature of other bounds", FIRST_SIGNATURE, withDetail(ACTIVATE, { bounds: { ...BOUNDS, max_open: 6 } })],
  ["a signature of other systems", FIRST_SIGNATURE, withDetail(ACTIVATE, { systems: [] })],
  ["an entry of another mandate", FIRST_SIGNATURE, withDetail(ACTIVATE, { mandate_id: "man_2" })],
  ["a signature of an active mandate", FIRST_SIGNATURE, ACTIVATE, ACTIVATE],
  ["an entry that skips a revision", FIRST_SIGNATURE, ACTIVATE, withRevision(SUSPEND, 3)],
  ["an entry that repeats a revision", FIRST_SIGNATURE, ACTIVATE, withRevision(SUSPEND, 1)],
  ["an event that is none of a mandate", FIRST_SIGNATURE, ACTIVATE, withRevision(["change_applied", 2, {}], 2)],
  ["a narrowing of a draft", FIRST_SIGNATURE, NARROW],
  ["a narrowing without bounds", FIRST_SIGNATURE, ACTIVATE, withDetail(NARROW, { narrow: undefined })],
  ["a narrowing that widens", FIRST_SIGNATURE, ACTIVATE, withDetail(NARROW, { narrow: { max_open: 6 } })],
  ["a suspension of a draft", FIRST_SIGNATURE, SUSPEND],
  ["a suspension of a suspended mandate", FIRST_SIGNATURE, ACTIVATE, SUSPEND, withRevision(SUSPEND, 3)],
  ["a suspension without a reason", FIRST_SIGNATURE, ACTIVATE, withDetail(SUSPEND, { suspension: undefined })],
  ["a resumption of a draft", FIRST_SIGNATURE, withRevision(RESUME, 1)],
  [
    "a resumption by nobody",
    FIRST_SIGNATURE,
    ACTIVATE,
    SUSPEND,
    withDetail(COMPLETE_RESUMPTION, { approver: undefined }),
  ],
  [
    "a resumption of another status",
    FIRST_SIGNATURE,
    ACTIVATE,
    SUSPEND,
    withDetail(COMPLETE_RESUMPTION, { status: "draft" }),
  ],
  ["an end without a reason", FIRST_SIGNATURE, ACTIVATE, withDetail(END, { reason: "lost" })],
])("%s is rejected", (_, ...steps) => {
  expect(fold(...steps)).toBeUndefined();
  if (steps.length > 1) expect(fold(...steps.slice(0, -1))).toBeDefined();
});
