/** Names that may revoke or deny a change, and the text that lists them. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { requireRevoker, describeRevokeRights } from "../../../../lib/changes/rules/revoke_rights.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const NAME = "Ana";
const change = (approvals: object[], overrides: object = {}): Change =>
  ({
    status: "approved",
    tier: "standard",
    tenant_id: "t1",
    target: "ui.banner",
    proposer: "pat",
    approvals,
    ...overrides,
  }) as unknown as Change;
const approval = (approver: string, emergency?: true) => ({ approver, note: "", ...(emergency && { emergency }) });

const ONCALL = { approvers: ["bo"], break_glass: { approvers: ["oncall"], required: 1 } };
const SIGNED = { approvers: ["ana", "bo"], signed_only: true };
const PRINCIPALS = { bo: person(passkey()) };
const mayRevokeText = (names: string) => `${names} may revoke it`;
const APPROVED_BY_INTENT = "nobody approved it but the intent: each person who may approve it may revoke it";
const APPROVERS_GONE = "nobody who approved it can decide today: each person who may approve it may revoke it";

/** `expectedByName`: true for a name that may revoke, else the code of the error. */
test.each<
  [
    title: string,
    revocable: Change,
    policy: object,
    text: string,
    expectedByName: Record<string, true | "not_an_approver">,
  ]
>([
  [
    "a change can be revoked by its approver in any spelling",
    change([approval(NAME)]),
    {},
    mayRevokeText(NAME),
    { ana: true, bo: "not_an_approver" },
  ],
  [
    "a change can be revoked by each approver, who is listed once",
    change([approval("ana"), approval("bo"), approval("ana")]),
    {},
    mayRevokeText("ana, bo"),
    { bo: true, cy: "not_an_approver" },
  ],
  [
    "a change that the intent alone approved can be revoked by all who may decide",
    change([]),
    { approvers: ["bo"] },
    APPROVED_BY_INTENT,
    { bo: true, cy: "not_an_approver" },
  ],
  [
    "a change whose approver may no longer decide can be revoked by those who may",
    change([approval("ana")]),
    { approvers: ["bo"] },
    APPROVERS_GONE,
    { ana: true, bo: true, cy: "not_an_approver" },
  ],
  [
    "a change can be revoked only by its approvers if one of them may still decide",
    change([approval("ana"), approval("bo")]),
    { approvers: ["bo", "cy"] },
    mayRevokeText("bo"),
    { ana: true, cy: "not_an_approver" },
  ],
  [
    "a change whose approver cannot sign can be revoked by others",
    change([approval("ana")]),
    SIGNED,
    APPROVERS_GONE,
    { bo: true },
  ],
  [
    "a change whose approver can sign can be revoked only by them",
    change([approval("bo")]),
    SIGNED,
    mayRevokeText("bo"),
    { bo: true, ana: "not_an_approver" },
  ],
  [
    "an emergency can be revoked by its approver",
    change([approval("OnCall", true)]),
    ONCALL,
    mayRevokeText("OnCall"),
    { oncall: true, bo: "not_an_approver" },
  ],
  [
    "an emergency whose approver is no longer named can be revoked by others",
    change([approval("cy", true)]),
    ONCALL,
    APPROVERS_GONE,
    { bo: true, oncall: "not_an_approver" },
  ],
  [
    "an emergency can be revoked by others if the intent no longer has the rule",
    change([approval("oncall", true)]),
    { approvers: ["bo"] },
    APPROVERS_GONE,
    { bo: true },
  ],
  [
    "an ordinary consent of an emergency approver does not count",
    change([approval("oncall")]),
    ONCALL,
    APPROVERS_GONE,
    { bo: true },
  ],
  [
    "a pending change is denied, not revoked",
    change([], { status: "pending_consent" }),
    {},
    "each person who may approve it may deny it",
    { bo: "not_an_approver" },
  ],
])("%s", (_, subject, policy, text, expectedByName) => {
  const { intent } = makeIntent({ policy, ...("signed_only" in policy && { principals: PRINCIPALS }) });
  expect(describeRevokeRights(subject, intent)).toBe(text);
  for (const [name, expected] of Object.entries(expectedByName)) {
    const revoke = () => requireRevoker(subject, name, intent);
    if (expected === true) expect(revoke, name).not.toThrow();
    else expect(revoke, name).toThrow(expect.objectContaining({ code: expected }));
  }
});

test("the error names the caller", () => {
  expect(() => requireRevoker(change([approval("ana")]), "cy", makeIntent().intent)).toThrow(
    "cy has not approved this change, and has nothing to take back",
  );
});
