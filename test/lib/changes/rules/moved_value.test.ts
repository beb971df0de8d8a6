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

const createChange = (approvals: object[], overrides: object = {}): Change =>
  ({
    status: "approved",
    tier: "standard",
    tenant_id: "t1",
    target: "a",
    proposer: "pat",
    approvals,
    ...overrides,
  }) as never;
/** Creates a consent; `seen`: the digests that the approver saw, in the order of CURRENT. */
const approve = (seen?: string[], overrides: object = {}) => ({
  approver: "ana",
  note: "",
  at: "",
  seen,
  ...overrides,
});
const approveByMandate = (seen?: string[], overrides: object = {}) =>
  approve(seen, { approver: "mandate:mnd_1", ...overrides });

const CURRENT = [
  { place: "a", digest: "1", at: "" },
  { place: "b", digest: "2", at: "" },
] as never;
const VALUE_A = { place: "a", digest: "1" };
const VALUE_B = { place: "b", digest: "2" };

test.each<[string, Change, typeof REPORTS, object | undefined]>([
  ["equal values are not moved", createChange([approve(["1", "2"])]), BLOCKS, undefined],
  [
    "a value that one consent did not see is moved",
    createChange([approve(["1", "2"]), approve(["1", "3"])]),
    REPORTS,
    { moved: [VALUE_B], blocks: false },
  ],
  [
    "a moved value blocks if the policy says so",
    createChange([approve(["0", "2"])]),
    BLOCKS,
    { moved: [VALUE_A], blocks: true },
  ],
  [
    "a consent without digests saw nothing, if the policy blocks",
    createChange([approve()]),
    BLOCKS,
    { moved: [VALUE_A, VALUE_B], blocks: true },
  ],
  ["a consent without digests is ignored, if the policy only reports", createChange([approve()]), REPORTS, undefined],
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
    { moved: [VALUE_B], blocks: true },
  ],
  [
    "a mandate's consent always blocks",
    createChange([approveByMandate(["1", "0"])]),
    WITH_MANDATES,
    { moved: [VALUE_B], blocks: true },
  ],
  [
    "a mandate's consent without digests saw nothing",
    createChange([approveByMandate()]),
    WITH_MANDATES,
    { moved: [VALUE_A, VALUE_B], blocks: true },
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
  // Without `policy.mandates` the consent of a mandate does not count.
  expect(requiresUnchangedValues(createChange([approveByMandate()]), REPORTS)).toBe(false);
});

test("a missing value has a digest of its own, which no value has", () => {
  expect(digestObservedValue({}, portableSha256)).toBe("absent");
  expect(digestObservedValue({ value: "absent" }, portableSha256)).toBe(portableSha256('"absent"'));
});

test("the description names each place, in singular or plural", () => {
  const both = describeMovedValues({ moved: [VALUE_A, VALUE_B] });
  expect(both).toContain("a, b");
  expect(describeMovedValues({ moved: [VALUE_A] })).not.toBe(both.replace("a, b", "a"));
});
