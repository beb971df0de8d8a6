/** The consents that a change still needs, by rule. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import {
  listMissingConsents,
  listMissingOrdinaryConsents,
  countQuorum,
} from "../../../../lib/changes/rules/missing_consents.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const change = (approvers: string[] = [], overrides: object = {}): Change =>
  ({
    status: "pending_consent",
    tier: "standard",
    tenant_id: "t1",
    target: "price.pro",
    proposer: "pat",
    required_approvers: 1,
    approvals: approvers.map((approver) => ({ approver, note: "", at: "2026-01-02T00:00:00.000Z" })),
    review: null,
    ...overrides,
  }) as unknown as Change;
const QUORUM = "required_approvers";

test.each<[string, object, Change, object[]]>([
  ["one of any person", {}, change(), [{ rule: QUORUM, count: 1, of: [] }]],
  ["none after the only one", {}, change(["ana"]), []],
  [
    "two of the approvers without the proposer",
    { approvers: ["Ana", "bo", "pat"], required_approvers: { standard: 2 }, self_approval: false },
    change(),
    [{ rule: QUORUM, count: 2, of: ["ana", "bo"] }],
  ],
  [
    "one of the proposer if self_approval is allowed",
    { approvers: ["ana", "pat"], required_approvers: { standard: 2 }, self_approval: true },
    change(["ANA"]),
    [{ rule: QUORUM, count: 1, of: ["pat"] }],
  ],
  [
    "one that no approver is left to give",
    { approvers: ["ana", "pat"], required_approvers: { standard: 2 }, self_approval: false },
    change(["ana"]),
    [{ rule: QUORUM, count: 1, of: [], unreachable: true }],
  ],
  [
    "one more if an approver is no longer listed",
    { approvers: ["bo"] },
    change(["ana"]),
    [{ rule: QUORUM, count: 1, of: ["bo"] }],
  ],
  [
    "those of owners, for each rule",
    {
      owners: [
        { targets: ["price.*", "rate.*"], approvers: ["fin", "Fin", "kim"], required: 2 },
        { targets: ["*"], tenants: ["t1", "t2"], approvers: ["ana"] },
        { targets: ["*"], tenants: ["t3"], approvers: ["cy"] },
        { targets: ["ui.*"], approvers: ["dee"] },
      ],
    },
    change(["fin"]),
    [
      { rule: "owners price.*, rate.*", count: 1, of: ["kim"] },
      { rule: "owners * for t1, t2", count: 1, of: ["ana"] },
    ],
  ],
])("the missing consents are %s", (_, policy, candidate, missing) => {
  expect(listMissingConsents(candidate, makeIntent({ policy }).intent)).toEqual(missing);
});

test("an owner without a key is not listed where signatures are required", () => {
  // By default signatures are required as soon as anybody has keys.
  const keys = { ana: person(passkey()) };
  const rules = { owners: [{ targets: ["*"], approvers: ["ana", "bo"], required: 1 }], approvers: ["ana"] };
  const { intent } = makeIntent({ principals: keys, policy: rules });
  expect(listMissingConsents(change(), intent).at(-1)).toEqual({ rule: "owners *", count: 1, of: ["ana"] });
});

test("emergency consents leave nothing missing and do not count for the quorum", () => {
  const { intent } = makeIntent({ policy: { break_glass: { approvers: ["ana"] } } });
  const approvals = [{ approver: "ana", note: "", at: "2026-01-02T00:00:00.000Z", emergency: true }];
  const emergency = change([], { approvals, review: { due: "2026-01-03T00:00:00.000Z" } });
  expect(listMissingConsents(emergency, intent)).toEqual([]);
  expect(listMissingOrdinaryConsents(emergency, intent)).toEqual([{ rule: QUORUM, count: 1, of: [] }]);
  expect(countQuorum(emergency, intent)).toEqual({ received: 0, needed: 1 });
});

test("an owner counts for the quorum only if listed in approvers", () => {
  const owners = [{ targets: ["*"], approvers: ["fin"] }];
  const { intent } = makeIntent({ policy: { approvers: ["ana"], owners } });
  expect(countQuorum(change(["fin", "Ana", "ana"]), intent)).toEqual({ received: 1, needed: 1 });
});
