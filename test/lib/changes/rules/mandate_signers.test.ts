/** The signatures that a mandate needs by quorum and owners, and the consents of mandates that count. */
import { expect, test } from "vitest";
import { findApprovingMandate, isApprovedByMandate } from "../../../../lib/changes/rules/mandate_approval.ts";
import {
  findPartlyOwned,
  canSignMandate,
  listMissingSignatures,
} from "../../../../lib/changes/rules/mandate_signers.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey, sshSigner } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const owner = (overrides: object = {}) => ({
  targets: ["price.*"],
  approvers: ["fin", "ona"],
  required: 2,
  ...overrides,
});
const bounds = (targets: string[], tenants: string[] | "all" = ["t1"]) => ({ targets, tenants });
type Bounds = ReturnType<typeof bounds>;
type PartlyOwned = { pattern: string; owned: string } | undefined;

test.each<[title: string, bounds: Bounds, owners: object[], expected: PartlyOwned]>([
  ["a pattern without owners", bounds(["ui.*"]), [owner()], undefined],
  ["a pattern that is owned completely", bounds(["price.a.*"]), [owner()], undefined],
  [
    "a pattern that is owned for all of its tenants",
    bounds(["price.*"]),
    [owner({ tenants: ["t1", "t2"] })],
    undefined,
  ],
  ["a pattern that is owned for another tenant", bounds(["price.*"]), [owner({ tenants: ["t2"] })], undefined],
  [
    "a pattern that is wider than the owned one",
    bounds(["ui.*", "pr*"]),
    [owner({ targets: ["price.*", "cost.*"] })],
    { pattern: "pr*", owned: "price.*, cost.*" },
  ],
  [
    "a pattern that is owned for one of its tenants",
    bounds(["price.*"], ["t1", "t2"]),
    [owner({ tenants: ["t2"] })],
    { pattern: "price.*", owned: "price.*" },
  ],
  [
    "a pattern of all tenants that is owned for one",
    bounds(["price.*"], "all"),
    [owner({ tenants: ["t2"] })],
    { pattern: "price.*", owned: "price.*" },
  ],
  [
    "a pattern that a second rule owns in part",
    bounds(["price.*"]),
    [owner(), owner({ targets: ["price.a"] })],
    { pattern: "price.*", owned: "price.a" },
  ],
])("patterns that are owned in part: %s", (_, checked, owners, expected) => {
  expect(findPartlyOwned(checked, { owners } as never)).toEqual(expected);
});

const NAMES = ["ana", "bo", "fin", "ona", "una"];
const principals = {
  ...Object.fromEntries(NAMES.slice(0, 4).map((name) => [name, person(passkey())])),
  // This key signs unattended.
  una: person(sshSigner("ssh-ed25519")),
};
const intent = (overrides: object = {}) =>
  makeIntent({
    policy: {
      approvers: ["ana", "bo", "una"],
      required_approvers: { standard: 1, major: 2 },
      owners: [owner({ tenants: ["t1"] }), owner({ targets: ["plan.*"], approvers: ["bo"], required: 1 })],
      ...overrides,
    },
    principals,
  }).intent;
/** `price.a` is owned, `ui.*` is not. */
const PRICE_AND_UI = bounds(["price.a", "ui.*"]);

// Approvers may sign, and owners of one of the targets.
test.each<[name: string, bounds: Bounds, canSign: boolean]>([
  ["Ana", bounds(["ui.*"]), true],
  ["fin", bounds(["ui.*"]), false],
  ["FIN", PRICE_AND_UI, true],
  ["fin", bounds(["price.a"], ["t2"]), false],
  ["fin", bounds(["plan.a"]), false],
])("%s may sign a mandate over %j: %s", (name, signed, expected) => {
  expect(canSignMandate(name, signed, intent())).toBe(expected);
});

const OWNERS = "owners price.* for t1";

// The quorum of a mandate is that of a major change, two here; una's unattended key does not count.
test.each<[title: string, signers: string[], bounds: Bounds, missing: object[]]>([
  [
    "nobody",
    [],
    PRICE_AND_UI,
    [
      { rule: "required_approvers", count: 2, of: ["ana", "bo"] },
      { rule: OWNERS, count: 2, of: ["fin", "ona"] },
    ],
  ],
  [
    "one of each",
    ["ANA", "fin"],
    PRICE_AND_UI,
    [
      { rule: "required_approvers", count: 1, of: ["bo"] },
      { rule: OWNERS, count: 1, of: ["ona"] },
    ],
  ],
  ["the quorum", ["ana", "bo"], PRICE_AND_UI, [{ rule: OWNERS, count: 2, of: ["fin", "ona"] }]],
  ["all", ["ana", "bo", "fin", "ona"], PRICE_AND_UI, []],
  ["the quorum, for targets without owners", ["ana", "bo"], bounds(["ui.*"]), []],
  ["the quorum, which includes the owner", ["ana", "bo"], bounds(["plan.a"]), []],
])("the missing signatures of a mandate that is signed by %s", (_, signers, signed, missing) => {
  expect(listMissingSignatures(signers, signed, intent())).toEqual(missing);
});

test("too few people with attended keys are reported as unreachable", () => {
  const few = intent({ required_approvers: { standard: 1, major: 3 } });
  expect(listMissingSignatures([], bounds(["ui.*"]), few)).toEqual([
    { rule: "required_approvers", count: 3, of: ["ana", "bo"], unreachable: true },
  ]);
});

const MANDATES = { targets: ["*"] };
const approval = (approver: string, overrides: object = {}) => ({ approver, note: "", ...overrides });

test.each<[title: string, approvals: object[], policy: object, mandate: string | undefined, counts: boolean]>([
  ["people", [approval("ana")], { mandates: MANDATES }, undefined, false],
  ["a mandate", [approval("mandate:man_1")], { mandates: MANDATES }, "man_1", true],
  ["a person and a mandate", [approval("ana"), approval("mandate:man_1")], { mandates: MANDATES }, "man_1", true],
  [
    "a mandate that is suspended",
    [approval("mandate:man_1", { inactive: true })],
    { mandates: MANDATES },
    "man_1",
    false,
  ],
  ["a mandate, which the policy no longer allows", [approval("mandate:man_1")], {}, "man_1", false],
])("a change approved by %s", (_, approvals, policy, mandate, counts) => {
  expect(findApprovingMandate({ approvals } as never)).toBe(mandate);
  expect(isApprovedByMandate({ approvals } as never, policy as never)).toBe(counts);
});
