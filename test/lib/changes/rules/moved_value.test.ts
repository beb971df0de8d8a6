/** Values that changed on a target system between a consent and the apply. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import {
  describeMovedValues,
  digestObservedValue,
  findMovedValues,
  requiresUnchangedValues,
} from "../../../../lib/changes/rules/moved_value.ts";
import { makeIntent } from "../../../support/intents.ts";

const REPORTS = makeIntent().intent;
const BLOCKS = makeIntent({ policy: { on_moved: "block" } }).intent;
const WITH_MANDATES = { ...REPORTS, policy: { ...REPORTS.policy, mandates: {} as never } };

const createChange = (approvals: object[], over: object = {}): Change =>
  ({
    status: "approved",
    tier: "standard",
    tenant_id: "t1",
    target: "a",
    proposer: "pat",
    approvals,
    ...over,
  }) as never;
const approve = (seen?: string[], over: object = {}) => ({ approver: "ana", note: "", at: "", seen, ...over });
const approveByMandate = (seen?: string[], over: object = {}) => approve(seen, { approver: "mandate:mnd_1", ...over });

const CURRENT = [
  { place: "a", digest: "1", at: "" },
  { place: "b", digest: "2", at: "" },
] as never;
const A = { place: "a", digest: "1" };
const B = { place: "b", digest: "2" };

test.each<[string, Change, typeof REPORTS, object | undefined]>([
  ["equal values are not moved", createChange([approve(["1", "2"])]), BLOCKS, undefined],
  [
    "a value that one consent did not see is moved",
    createChange([approve(["1", "2"]), approve(["1", "3"])]),
    REPORTS,
    { moved: [B], blocks: false },
  ],
  ["it blocks if the policy says so", createChange([approve(["0", "2"])]), BLOCKS, { moved: [A], blocks: true }],
  [
    "a consent without digests saw nothing, if the policy blocks",
    createChange([approve()]),
    BLOCKS,
    { moved: [A, B], blocks: true },
  ],
  ["and is ignored if it reports", createChange([approve()]), REPORTS, undefined],
  [
    "a consent that does not count is ignored",
    createChange([approve(["0", "0"], { emergency: true })]),
    REPORTS,
    undefined,
  ],
  [
    "the policy's own consent always blocks",
    createChange([], { seen_by_policy: ["1", "0"] }),
    REPORTS,
    { moved: [B], blocks: true },
  ],
  [
    "a mandate's consent always blocks",
    createChange([approveByMandate(["1", "0"])]),
    WITH_MANDATES,
    { moved: [B], blocks: true },
  ],
  [
    "a mandate's consent without digests saw nothing",
    createChange([approveByMandate()]),
    WITH_MANDATES,
    { moved: [A, B], blocks: true },
  ],
  [
    "an inactive mandate's consent is ignored",
    createChange([approveByMandate([], { inactive: true })]),
    WITH_MANDATES,
    undefined,
  ],
])("%s", (_, change, intent, expected) => {
  expect(findMovedValues(change, intent, CURRENT)).toEqual(expected);
});

test("unchanged values are required for consents of policy and mandates, and by the policy", () => {
  expect(requiresUnchangedValues(createChange([approve()]), REPORTS)).toBe(false);
  expect(requiresUnchangedValues(createChange([approve()]), BLOCKS)).toBe(true);
  expect(requiresUnchangedValues(createChange([], { seen_by_policy: [] }), REPORTS)).toBe(true);
  expect(requiresUnchangedValues(createChange([approveByMandate()]), WITH_MANDATES)).toBe(true);
  expect(requiresUnchangedValues(createChange([approveByMandate()]), REPORTS)).toBe(false);
});

test("a missing value has a digest of its own, which no value has", () => {
  expect(digestObservedValue({}, portableSha256)).toBe("absent");
  expect(digestObservedValue({ value: "absent" }, portableSha256)).toBe(portableSha256('"absent"'));
});

test("the description names each place, in singular or plural", () => {
  const both = describeMovedValues({ moved: [A, B] });
  expect(both).toContain("a, b");
  expect(describeMovedValues({ moved: [A] })).not.toBe(both.replace("a, b", "a"));
});
