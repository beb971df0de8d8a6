/** Tests the verifier's own rules of mandates: which narrowings are valid, and whose signatures a mandate needs. */
import { expect, test } from "vitest";
import { isNarrowing } from "../../../local/verify/mandate_narrow.ts";
import { isSignedByMandateSigner, findMissingSignatures } from "../../../local/verify/mandate_signers.ts";
import { areLimitsNarrower } from "../../../local/verify/schema_narrow.ts";
import { BOUNDS, NARROWER, OVERLAPS, SCHEMAS, WIDER } from "../../support/narrowings.ts";
import { signEntries, TARGETS } from "./signed_mandates.ts";

const DIRECTIONS = new Map([["csat", 1]]);
const judge = (narrow: unknown, before: object = {}, directions: typeof DIRECTIONS | undefined = DIRECTIONS) =>
  isNarrowing({ ...BOUNDS, ...before }, narrow, directions);

test.each(NARROWER)("%s narrows", (_, narrow, before) => expect(judge(narrow, before)).toBe(true));
test.each(WIDER)("%s does not narrow", (_, narrow, before) => expect(judge(narrow, before)).toBe(false));
test.each(SCHEMAS)("of schemas %j and %j the second is as strict: %s", (before, after, isNarrow) => {
  expect(areLimitsNarrower({ schema: before }, { schema: after })).toBe(isNarrow);
});

// `before` replaces fields of BOUNDS (test/support/narrowings.ts), which has 10 changes a day and 100 users.
test.each<[narrowing: string, isValid: boolean, narrow: unknown, before?: object]>([
  ["no object", false, "smaller"],
  ["the same bounds", true, { max_per_day: 10, targets: BOUNDS.targets, until: BOUNDS.until }],
  ["targets that are no text", false, { targets: [1] }],
  ["targets of which one is no text", false, { targets: ["price.*", 1] }, { targets: ["price.*", 1] }],
  ["targets that are no list", false, { targets: "price.*" }],
  ["targets of a mandate whose own are no text", false, { targets: [] }, { targets: [1] }],
  ["tenants that are no text, of all", false, { tenants: [1] }, { tenants: "all" }],
  ["all tenants, of all", true, { tenants: "all" }, { tenants: "all" }],
  ["no user", true, { max_affected_users: 0 }],
  ["a part of a user", false, { max_affected_users: 0.5 }],
  ["users of a mandate whose own are no number", false, { max_affected_users: 1 }, { max_affected_users: "100" }],
  ["none a day", false, { max_per_day: 0 }],
  ["a count where there was none", true, { max_open: 5 }, { max_open: undefined }],
  ["floors that are no object", false, { kpi_floor: 4 }],
  ["floors of a mandate whose own are no object", false, { kpi_floor: {} }, { kpi_floor: 4 }],
  ["the first floor", true, { kpi_floor: { csat: 4 } }, { kpi_floor: undefined }],
  ["a floor that is no number", false, { kpi_floor: { csat: "5", incident_rate: 0.1 } }],
  ["an end that is no text", false, { until: 5 }],
  ["an end that is a number below one in text", false, { until: 5 }, { until: "9" }],
  ["an end in text below one that is a number", false, { until: "5" }, { until: 9 }],
  ["an end of a mandate whose own is no text", false, { until: BOUNDS.until }, { until: 5 }],
])("a narrowing to %s is valid: %s", (_, expected, narrow, before) => {
  expect(judge(narrow, before)).toBe(expected);
});

test("without the intent's directions a floor may move either way, but must not be dropped", () => {
  expect(isNarrowing(BOUNDS as never, { kpi_floor: { csat: 3, incident_rate: 0.2 } })).toBe(true);
  expect(isNarrowing(BOUNDS as never, { kpi_floor: { csat: 3 } })).toBe(false);
});

const LACKS_OWNERS = (own: number) => `its mandate has ${own} of 2 signatures of the owners of price.*`;

const ALL_OWNED = { owners: [{ targets: ["*"], approvers: ["fin"] }] };

// The mandates (TARGETS) are of price.a and ui.* for the tenant t1. They need the quorum, two of ana, bo and cy, and both owners of
// price.* for t1, fin and ona. The key of cy signs unattended, so it does not count. `detail` replaces fields of the signatures; ona
// may sign only with the group finance, which they have.
test.each<
  [who: string, names: string[], problem: string | undefined, bounds?: object, detail?: object, policy?: object]
>([
  ["nobody", [], "its mandate has 0 of 2 signatures"],
  ["one", ["ana"], "its mandate has 1 of 2 signatures"],
  ["one twice", ["ana", "ANA"], "its mandate has 1 of 2 signatures"],
  ["one whose key signs unattended", ["ana", "cy"], "its mandate has 1 of 2 signatures"],
  ["the quorum", ["ana", "bo"], LACKS_OWNERS(0)],
  ["the quorum and an owner", ["ana", "bo", "fin"], LACKS_OWNERS(1)],
  ["the quorum and the owners", ["ana", "bo", "fin", "ona"], undefined],
  ["more than are needed", ["ana", "bo", "fin", "ona"], undefined, {}, {}, { required_approvers: { standard: 1 } }],
  ["an owner outside of her group", ["ana", "bo", "fin", "ona"], LACKS_OWNERS(1), {}, { idp: ["sales"] }],
  ["an owner of no group", ["ana", "bo", "fin", "ona"], LACKS_OWNERS(1), {}, { idp: undefined }],
  ["the quorum, of another tenant", ["ana", "bo"], undefined, { tenants: ["t2"] }],
  [
    "the quorum, of one of the owners' tenants",
    ["ana", "bo"],
    "its mandate has 0 of 1 signatures of the owners of price.*",
    {},
    {},
    { owners: [{ targets: ["price.*"], approvers: ["fin"], tenants: ["t1", "t2"] }] },
  ],
  ["the quorum, of all tenants", ["ana", "bo"], LACKS_OWNERS(0), { tenants: "all" }],
  ["the quorum, of targets that are no text", ["ana", "bo"], undefined, { targets: [5] }, {}, ALL_OWNED],
  ["the quorum, of targets that are no list", ["ana", "bo"], undefined, { targets: "price.a" }, {}, ALL_OWNED],
  ["the quorum, of what nobody owns", ["ana", "bo"], undefined, { targets: ["ui.*"] }],
  ["the owners alone", ["fin", "ona"], "its mandate has 0 of 2 signatures"],
])(
  "a mandate that is signed by %s lacks the signatures that its row names",
  (_, names, expected, bounds, detail, policy) => {
    const { known, entries, grounds } = signEntries(names, detail, policy);
    expect(findMissingSignatures(entries, { ...TARGETS, ...bounds }, known, grounds)).toBe(expected);
  },
);

test("a signature by another person's key does not count", () => {
  const { known, entries, grounds } = signEntries(["ana", "bo"]);
  const swapped = new Map([
    [1, known.keys.get("bo")![0]!.id],
    [2, known.keys.get("bo")![0]!.id],
  ]);
  expect(findMissingSignatures(entries, TARGETS, known, { ...grounds, signed: swapped })).toBe(
    "its mandate has 1 of 2 signatures",
  );
});

test.each(OVERLAPS)("owners of %s must sign over %s: %s", (owned, pattern, shared) => {
  for (const [one, other] of [
    [owned, pattern],
    [pattern, owned],
  ] as const) {
    // "zz" and "yy" overlap with nothing: one pattern of several is enough.
    const owners = [{ targets: ["zz", one], approvers: ["fin"], required: 1 }];
    const { known, entries, grounds } = signEntries(["ana", "bo"], {}, { owners });
    const problem = findMissingSignatures(entries, { targets: ["yy", other], tenants: "all" }, known, grounds);
    expect(problem !== undefined).toBe(shared);
  }
});

test.each<[who: string, ends: boolean, name: string, detail: object, bounds: object]>([
  ["one who may decide", true, "ana", {}, {}],
  // An end permits nothing, so any key of the person is enough.
  ["one whose key signs unattended", true, "cy", {}, {}],
  ["an owner", true, "fin", {}, {}],
  ["an owner of other targets", false, "fin", {}, { targets: ["ui.*"] }],
  ["an owner outside of her group", false, "ona", { idp: ["sales"] }, {}],
  ["one of another name", false, "ana", { approver: "bo" }, {}],
  ["nobody", false, "ana", { approver: undefined }, {}],
  ["one who did not sign", false, "ana", { proof: undefined }, {}],
  // Without the intent its signers cannot be checked; the verdict is then only `consistent`.
  ["one under an intent that is not known", true, "fin", { manifest_hash: "x" }, { targets: ["ui.*"] }],
])("an entry by %s ends a mandate: %s", (_, expected, name, detail, bounds) => {
  const { entries, grounds } = signEntries([name], detail);
  expect(isSignedByMandateSigner(entries[0]!, { ...TARGETS, ...bounds }, grounds)).toBe(expected);
});

test("an approver whom the intent gives no key ends no mandate", () => {
  const { entries, grounds } = signEntries(["ana"], { approver: "zoe" }, { approvers: ["zoe"] });
  expect(isSignedByMandateSigner(entries[0]!, TARGETS, { ...grounds, signed: new Map() })).toBe(false);
});
