/** Tests the verifier's rules of a mandate's consent: its entries, its signatures, and whether the change is in its bounds. */
import { expect, test } from "vitest";
import type { RecordedEntry } from "../../../local/verify/entry_detail.ts";
import { findMandateProblem } from "../../../local/verify/mandates.ts";
import { AT, BOUNDS, type Detail, entry, signEntries, SYSTEMS } from "./signed_mandates.ts";

const NOT_NEXT = "an entry of its mandate does not follow from the earlier entries";

const SETS = [
  { tenant_id: "t1", target: "price.a", value: 5 },
  { tenant_id: "t1", target: "price.b", value: 6 },
];
const CONTENT: Detail = {
  ...{ proposer: "agent:pricing", kind: "config", tenant_id: "t1", target: "price.a", value: 5 },
  ...{ reversible: true, risk: "low", affected_users: 10 },
};
/** The first of the 8 changes of a day, and of the 3 that may be open. */
const STATED = { mandate_id: "m1", revision: 1, entry: 2, number: 1, left: { today: 7, open: 2 } };
const LIMITS = { limits: { schema: { type: "number", maximum: 5 } } };

interface Case {
  stated?: Detail;
  content?: Detail;
  bounds?: Detail;
  proposal?: Detail;
  policy?: Detail | undefined;
  stages?: Detail;
  /** Adds to the detail of the step, which also names the intent. */
  detail?: Detail;
  at?: string;
  created_at?: string;
  signers?: string[];
  /** Entries between the signatures and the consent; each counts as signed by ana. */
  between?: RecordedEntry[];
  isErased?: boolean;
}

/** Verifies a consent, entry 9, by a mandate that ana and bo signed in entries 1 and 2; with `atApply` at the apply, entry 10. */
function judge(
  { stated = {}, content = {}, bounds = {}, proposal = {}, policy = {}, between = [], ...more }: Case,
  atApply = false,
) {
  const { signers = ["ana", "bo"], isErased = false, created_at = AT, at = AT, stages, detail } = more;
  const rule = { targets: ["price.*"], max_days: 5, max_per_day: 9, max_open: 4, ...policy };
  const { grounds, known } = signEntries(signers, {}, { owners: [], mandates: rule, ...(stages && { stages }) });
  const status = (index: number) => (index === signers.length - 1 ? "active" : "draft");
  const own = { bounds: { ...BOUNDS, ...bounds }, systems: SYSTEMS, revision: 1, created_at };
  const signatures = signers.map((approver, index) =>
    entry(index + 1, "mandate_signed", { ...own, approver, status: status(index) }),
  );
  const approver = `mandate:${String(STATED.mandate_id)}`;
  const consent = entry(
    9,
    "consent_decision",
    { approver, mandate: { ...STATED, ...stated }, ...detail },
    { timestamp: at },
  );
  const step = atApply ? entry(10, "change_applied", detail, { timestamp: at }) : consent;

  const signed = new Map([
    ...grounds.signed,
    ...between.map((one) => [one.entry.id, known.keys.get("ana")![0]!.id] as const),
  ]);
  return findMandateProblem(consent, step, {
    ...grounds,
    signed,
    mandates: [...between, ...signatures],
    content: { ...CONTENT, ...content },
    isErased,
    proposal,
  });
}

const OUTSIDE = "it is outside the bounds of its mandate: ";
const ABSENT = "the entries of its mandate are not in this file";

test.each<[consent: string, given: Case, problem: string | undefined]>([
  ["within all bounds", {}, undefined],
  ["of an unknown intent", { detail: { manifest_hash: "x" } }, undefined],
  ["of another mandate", { stated: { mandate_id: "m2" } }, ABSENT],
  ["by a mandate without an id", { detail: { approver: "mandate:" } }, ABSENT],
  ["with a malformed mandate", { detail: { mandate: 5 } }, ABSENT],
  ["whose mandate has only a loss as entry", { signers: [], between: [entry(3, "loss_accepted")] }, ABSENT],
  ["after a loss", { between: [entry(3, "loss_accepted")] }, "its mandate was suspended, not active"],
  ["before a loss", { between: [entry(9, "loss_accepted")] }, undefined],
  [
    "after another mandate's end",
    { between: [entry(3, "mandate_ended", { mandate_id: "m2", revision: 2 })] },
    undefined,
  ],
  ["after its end", { between: [entry(3, "mandate_ended", { revision: 2 })] }, "its mandate was ended, not active"],
  ["after an entry that does not follow", { between: [entry(3, "mandate_ended", { revision: 5 })] }, NOT_NEXT],
  [
    "after a narrowing",
    {
      between: [entry(3, "mandate_narrowed", { revision: 2, narrow: { max_per_day: 5 } })],
      stated: { revision: 2, left: { today: 4, open: 2 } },
    },
    undefined,
  ],
  [
    "of the revision before",
    { between: [entry(3, "mandate_narrowed", { revision: 2, narrow: {} })] },
    "its mandate.revision is not the current revision of the mandate",
  ],
  ["of another entry", { stated: { entry: 1 } }, "its mandate.entry is not the entry that activated the mandate"],
  ["with one signature", { signers: ["ana"], stated: { entry: 1 } }, "its mandate has 1 of 2 signatures"],
  [
    "after a resumption with one signature",
    {
      between: [
        entry(3, "mandate_suspended", { revision: 2 }),
        entry(4, "mandate_resumed", { revision: 2, status: "active" }),
      ],
      stated: { revision: 2, entry: 4 },
    },
    "its mandate has 1 of 2 signatures",
  ],
  ["of another agent", { content: { proposer: "agent:other" } }, `${OUTSIDE}agent`],
  ["of an agent written otherwise", { content: { proposer: "Agent:Pricing" } }, undefined],
  ["without a proposer of the change", { content: { proposer: undefined } }, `${OUTSIDE}agent`],
  ["of another kind", { content: { kind: "workflow" } }, `${OUTSIDE}kinds`],
  ["by a mandate whose kinds are no list", { bounds: { kinds: "config" } }, `${OUTSIDE}kinds`],
  ["of another target", { content: { target: "ui.a" } }, `${OUTSIDE}targets`],
  ["of a target that the mandate leaves out", { bounds: { targets: ["price.b", 5] } }, `${OUTSIDE}targets`],
  ["of a target that the policy leaves out", { policy: { targets: ["price.b"] } }, `${OUTSIDE}targets`],
  ["of a target without a tenant", { content: { tenant_id: undefined } }, `${OUTSIDE}targets`],
  ["of another tenant", { content: { tenant_id: "t2" } }, `${OUTSIDE}tenants`],
  ["of any tenant", { content: { tenant_id: "t2" }, bounds: { tenants: "all" } }, undefined],
  ["of one tenant of two", { content: { sets: [SETS[0]!, { ...SETS[1]!, tenant_id: "t2" }] } }, `${OUTSIDE}tenants`],
  ["of one target of two", { content: { sets: [SETS[0]!, { ...SETS[1]!, target: "ui.a" }] } }, `${OUTSIDE}targets`],
  ["of no value and no limits", { content: { value: undefined } }, undefined],
  ["of a known system", { proposal: { places: [{ system: "flags" }] } }, undefined],
  ["of an unknown system", { proposal: { places: [{ system: "flags" }, { system: "db" }] } }, `${OUTSIDE}systems`],
  ["of a place that is not an object", { proposal: { places: ["flags"] } }, `${OUTSIDE}systems`],
  ["of places that are no list", { proposal: { places: "flags" } }, undefined],
  ["to a change that is not reversible", { content: { reversible: "yes" } }, `${OUTSIDE}reversible`],
  ["of medium risk", { content: { risk: "medium" } }, undefined],
  ["of high risk", { content: { risk: "high" } }, `${OUTSIDE}risk`],
  ["of more users", { content: { affected_users: 11 } }, `${OUTSIDE}max_affected_users`],
  ["of users that are no number", { content: { affected_users: "1" } }, `${OUTSIDE}max_affected_users`],
  ["of users, with a bound that is text", { bounds: { max_affected_users: "10" } }, `${OUTSIDE}max_affected_users`],
  [
    "of any number of users",
    { content: { affected_users: undefined }, bounds: { max_affected_users: undefined } },
    undefined,
  ],
  [
    "to a change that was erased",
    { content: { affected_users: null, value: undefined }, bounds: LIMITS, isErased: true },
    undefined,
  ],
  ["to a change that was erased and has users", { isErased: true }, `${OUTSIDE}max_affected_users`],
  ["of an allowed value", { bounds: LIMITS }, undefined],
  ["of another value", { bounds: LIMITS, content: { value: 6 } }, `${OUTSIDE}schema`],
  ["of no value", { bounds: LIMITS, content: { value: undefined } }, `${OUTSIDE}limits`],
  [
    "of one value of two",
    { bounds: LIMITS, content: { sets: [SETS[0]!, { ...SETS[1]!, value: undefined }] } },
    `${OUTSIDE}limits`,
  ],
  [
    "of a second value that is not allowed",
    { bounds: LIMITS, content: { sets: SETS }, stated: { number: 2, left: { today: 6, open: 2 } } },
    `${OUTSIDE}schema`,
  ],
  ["with limits that are not an object", { bounds: { limits: 5 } }, undefined],
  ["with limits without a schema", { bounds: { limits: {} } }, undefined],
  ["to a change that applies itself", { content: { apply_when: "approved" } }, `${OUTSIDE}apply_when`],
  [
    "to a change that may apply itself",
    { content: { apply_when: "approved" }, policy: { apply_when: true } },
    undefined,
  ],
  [
    "to a change that may apply itself, at a time",
    { content: { apply_when: AT }, policy: { apply_when: true } },
    `${OUTSIDE}apply_when`,
  ],
  ["in steps", { content: { stages: {} } }, `${OUTSIDE}stages`],
  [
    "in steps that are bounded",
    { content: { stages: {} }, stages: { watch: ["csat"], fed_by: ["bo"], max_allowed: { csat: 1 } } },
    undefined,
  ],
  ["at its beginning", { at: BOUNDS.from, created_at: BOUNDS.from }, undefined],
  ["before its beginning", { at: "2026-10-31T23:59:59.999Z" }, `${OUTSIDE}until`],
  ["before its end", { at: "2026-11-30T23:59:59.999Z", policy: { max_days: 90 } }, undefined],
  ["at its end", { at: BOUNDS.until, policy: { max_days: 90 } }, `${OUTSIDE}until`],
  ["without an end", { bounds: { until: undefined } }, `${OUTSIDE}until`],
  ["without a beginning", { bounds: { from: undefined } }, undefined],
  // The policy's five days count from the draft or the first signature, whichever is earlier: by default both are at AT.
  ["before the policy's days are over", { at: "2026-11-07T07:59:59.999Z" }, undefined],
  ["after the policy's days", { at: "2026-11-07T08:00:00.000Z" }, `${OUTSIDE}until`],
  [
    "after the days since its draft",
    { at: "2026-11-06T08:00:00.000Z", created_at: "2026-11-01T08:00:00.000Z" },
    `${OUTSIDE}until`,
  ],
  [
    "of a draft that is younger than its signature",
    { at: "2026-11-07T08:00:00.000Z", created_at: "2026-11-03T08:00:00.000Z" },
    `${OUTSIDE}until`,
  ],
  ["of a draft of no time", { created_at: "yesterday" }, undefined],
  ["of a plan", { content: { sets: SETS }, stated: { number: 2, left: { today: 6, open: 2 } } }, undefined],
  ["of a plan that counts as one", { content: { sets: SETS } }, `${OUTSIDE}max_per_day`],
  ["without a count", { stated: { number: undefined } }, `${OUTSIDE}max_per_day`],
  ["of a day without a bound", { bounds: { max_per_day: undefined } }, `${OUTSIDE}max_per_day`],
  ["of the last of a day", { stated: { number: 8, left: { today: 0, open: 2 } } }, undefined],
  ["of one more than a day", { stated: { number: 9, left: { today: 0, open: 2 } } }, `${OUTSIDE}max_per_day`],
  [
    "of one more than the policy's day",
    { policy: { max_per_day: 2 }, stated: { number: 3, left: { today: 0, open: 2 } } },
    `${OUTSIDE}max_per_day`,
  ],
  [
    "of the last of the policy's day",
    { policy: { max_per_day: 2 }, stated: { number: 2, left: { today: 0, open: 2 } } },
    undefined,
  ],
  ["of no open changes", { bounds: { max_open: 0 } }, `${OUTSIDE}max_open`],
  ["of one open change", { bounds: { max_open: 1 }, stated: { left: { today: 7, open: 0 } } }, undefined],
  [
    "of one open change of the policy's",
    { policy: { max_open: 1 }, stated: { left: { today: 7, open: 1 } } },
    `${OUTSIDE}left`,
  ],
  // Other changes may be open, so the open room may be smaller; the room today follows from the number.
  ["with less room today", { stated: { left: { today: 6, open: 2 } } }, `${OUTSIDE}left`],
  ["with more open room", { stated: { left: { today: 7, open: 3 } } }, `${OUTSIDE}left`],
  ["with less open room", { stated: { left: { today: 7, open: 0 } } }, undefined],
  ["with less than no open room", { stated: { left: { today: 7, open: -1 } } }, `${OUTSIDE}left`],
  ["with no room stated", { stated: { left: 9 } }, `${OUTSIDE}left`],
])("a consent %s", (_, given, expected) => {
  expect(judge(given)).toBe(expected);
});

test("an apply is verified by the mandate at that time, not by the counts of the consent", () => {
  expect(judge({ stated: { number: 99, revision: 7, entry: 7 } }, true)).toBe(undefined);
  expect(judge({ between: [entry(9, "loss_accepted")] }, true)).toBe("its mandate was suspended, not active");
  expect(judge({ content: { risk: "high" } }, true)).toBe(`${OUTSIDE}risk`);
});

test("an intent without mandates allows none", () => {
  const { grounds } = signEntries(["ana", "bo"], {}, { owners: [] });
  const own = { bounds: BOUNDS, systems: SYSTEMS, revision: 1 };
  const mandates = [entry(1, "mandate_signed", own), entry(2, "mandate_signed", { ...own, status: "active" })];
  const consent = entry(9, "consent_decision", { approver: "mandate:m1", mandate: STATED });
  const why = findMandateProblem(consent, consent, {
    ...grounds,
    mandates,
    content: CONTENT,
    isErased: false,
    proposal: {},
  });
  expect(why).toBe("its intent does not allow mandates");
});
