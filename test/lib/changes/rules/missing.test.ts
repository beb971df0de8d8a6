/** The consents that a change still lacks, rule by rule. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import {
  listMissingConsents,
  listMissingOrdinaryConsents,
  countQuorum,
} from "../../../../lib/changes/rules/missing.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const change = (approvers: string[] = [], over: object = {}): Change =>
  ({
    status: "pending_consent",
    tier: "standard",
    tenant_id: "t1",
    target: "price.pro",
    proposer: "pat",
    required_approvers: 1,
    approvals: approvers.map((approver) => ({ approver, note: "", at: "2026-01-02T00:00:00.000Z" })),
    review: null,
    ...over,
  }) as unknown as Change;
const QUORUM = "required_approvers";

test.each<[string, object, Change, object[]]>([
  ["of anybody", {}, change(), [{ rule: QUORUM, count: 1, of: [] }]],
  ["none, where one is enough", {}, change(["ana"]), []],
  [
    "of two of three, the proposer left out",
    { approvers: ["Ana", "bo", "pat"], required_approvers: { standard: 2 }, self_approval: false },
    change(),
    [{ rule: QUORUM, count: 2, of: ["ana", "bo"] }],
  ],
  [
    "of the proposer too, where they may",
    { approvers: ["ana", "pat"], required_approvers: { standard: 2 }, self_approval: true },
    change(["ANA"]),
    [{ rule: QUORUM, count: 1, of: ["pat"] }],
  ],
  [
    "of more than are left",
    { approvers: ["ana", "pat"], required_approvers: { standard: 2 }, self_approval: false },
    change(["ana"]),
    [{ rule: QUORUM, count: 1, of: [], unreachable: true }],
  ],
  [
    "of a name that no longer approves",
    { approvers: ["bo"] },
    change(["ana"]),
    [{ rule: QUORUM, count: 1, of: ["bo"] }],
  ],
  [
    "of owners, of each rule for itself",
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
])("are %s", (_, policy, asked, missing) => {
  expect(listMissingConsents(asked, makeIntent({ policy }).intent)).toEqual(missing);
});

test("an owner who cannot sign where signatures are needed cannot be reached", () => {
  const keys = { ana: person(passkey()) };
  const rules = { owners: [{ targets: ["*"], approvers: ["ana", "bo"], required: 1 }], approvers: ["ana"] };
  const { intent } = makeIntent({ principals: keys, policy: rules });
  expect(listMissingConsents(change(), intent).at(-1)).toEqual({ rule: "owners *", count: 1, of: ["ana"] });
});

test("an emergency's consents leave nothing missing, and count for no quorum", () => {
  const { intent } = makeIntent({ policy: { break_glass: { approvers: ["ana"] } } });
  const approvals = [{ approver: "ana", note: "", at: "2026-01-02T00:00:00.000Z", emergency: true }];
  const urgent = change([], { approvals, review: { due: "2026-01-03T00:00:00.000Z" } });
  expect(listMissingConsents(urgent, intent)).toEqual([]);
  expect(listMissingOrdinaryConsents(urgent, intent)).toEqual([{ rule: QUORUM, count: 1, of: [] }]);
  expect(countQuorum(urgent, intent)).toEqual({ received: 0, needed: 1 });
});

test("an owner counts for the quorum where approvers name them", () => {
  const owners = [{ targets: ["*"], approvers: ["fin"] }];
  const { intent } = makeIntent({ policy: { approvers: ["ana"], owners } });
  expect(countQuorum(change(["fin", "Ana", "ana"]), intent)).toEqual({ received: 1, needed: 1 });
});
