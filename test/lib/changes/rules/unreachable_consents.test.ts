/** Rules of consent that nobody could meet, which the loading of an intent reports. */
import { expect, test } from "vitest";
import { findUnreachableConsents } from "../../../../lib/changes/rules/consent_rules.ts";

type Rules = Parameters<typeof findUnreachableConsents>[0];
type Owner = Rules["owners"][number];

const createOwner = (approvers: string[], overrides: object = {}) =>
  ({ targets: ["*"], approvers, required: 1, ...overrides }) as Owner;
const createEmergency = (approvers: string[], required = 1) =>
  ({ approvers, required, review_hours: 1 }) as Rules["break_glass"];

/** Returns the paths of the unreachable rules, joined with dots. */
const listUnreachable = (rules: Partial<Rules>, namesWithKeys?: string[]): string[] =>
  findUnreachableConsents({ owners: [], windows: { deny: [], allow: [] }, ...rules } as Rules, namesWithKeys).map(
    ({ path }) => path.join("."),
  );

/** Nobody who did not consent to the emergency may review it. */
const REVIEW = ["break_glass.approvers"];

test.each<[of: string, rules: Partial<Rules>, namesWithKeys: string[] | undefined, unreachable: string[]]>([
  ["an owners' rule that enough people can meet", { owners: [createOwner(["ana"])] }, undefined, []],
  [
    "an owners' rule for more people than it names, once each",
    { owners: [createOwner(["ana"]), createOwner(["bo", "bo"], { required: 2 })] },
    undefined,
    ["owners.1.required"],
  ],
  [
    "an owners' rule with too few keys, if only signed consents count",
    { owners: [createOwner(["ana", "bo"], { required: 2 })] },
    ["ana"],
    ["owners.0.required"],
  ],
  [
    "an emergency for more people than it names",
    { break_glass: createEmergency(["sam"], 2) },
    undefined,
    ["break_glass.required"],
  ],
  ["a review by anybody", { break_glass: createEmergency(["ana"]) }, undefined, []],
  ["a review by another approver", { approvers: ["ana", "bo"], break_glass: createEmergency(["ana"]) }, undefined, []],
  ["no other reviewer", { approvers: ["ana"], break_glass: createEmergency(["ana"]) }, undefined, REVIEW],
  [
    "emergency approvers who are not reviewers",
    { approvers: ["ana"], break_glass: createEmergency(["sam"]) },
    undefined,
    [],
  ],
  [
    "an emergency that needs its only reviewer as well",
    { approvers: ["ana"], break_glass: createEmergency(["ana", "sam"], 2) },
    undefined,
    REVIEW,
  ],
  [
    "an owner of all targets as the reviewer",
    { approvers: ["ana"], owners: [createOwner(["cy"])], break_glass: createEmergency(["ana"]) },
    undefined,
    [],
  ],
  [
    "an owner of some targets, who is no reviewer of others",
    { approvers: ["ana"], owners: [createOwner(["cy"], { targets: ["ui.*"] })], break_glass: createEmergency(["ana"]) },
    undefined,
    REVIEW,
  ],
  [
    "an owner for some tenants, who is no reviewer of others",
    { approvers: ["ana"], owners: [createOwner(["cy"], { tenants: ["t1"] })], break_glass: createEmergency(["ana"]) },
    undefined,
    REVIEW,
  ],
  [
    "a reviewer without a key, if only signed consents count",
    { approvers: ["ana", "bo"], break_glass: createEmergency(["ana"]) },
    ["ana"],
    REVIEW,
  ],
  ["people with keys as reviewers", { break_glass: createEmergency(["ana"]) }, ["ana", "bo"], []],
  ["no second person with a key", { break_glass: createEmergency(["ana"]) }, ["ana"], REVIEW],
])("the unreachable rules of %s", (_, rules, namesWithKeys, paths) => {
  expect(listUnreachable(rules, namesWithKeys)).toEqual(paths);
});
