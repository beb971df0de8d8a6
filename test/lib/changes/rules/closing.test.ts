/** Who may end a change that cannot go on, and the words for it. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { requireRevoker, describeClosers } from "../../../../lib/changes/rules/closing.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const NAME = "Ana";
const change = (approvals: object[], over: object = {}): Change =>
  ({
    status: "approved",
    tier: "standard",
    tenant_id: "t1",
    target: "ui.banner",
    proposer: "pat",
    approvals,
    ...over,
  }) as unknown as Change;
const by = (approver: string, emergency?: true) => ({ approver, note: "", ...(emergency && { emergency }) });

const ONCALL = { approvers: ["bo"], break_glass: { approvers: ["oncall"], required: 1 } };
const SIGNED = { approvers: ["ana", "bo"], signed_only: true };
const PRINCIPALS = { bo: person(passkey()) };
const outOf = (names: string) => `${names} may revoke it`;
const byIntent = "nobody approved it but the intent: each person who may approve it may revoke it";
const byOthers = "nobody who approved it can decide today: each person who may approve it may revoke it";

test.each<[string, Change, object, string, Record<string, true | "not_an_approver">]>([
  [
    "by one who approved it, in any spelling",
    change([by(NAME)]),
    {},
    outOf(NAME),
    { ana: true, bo: "not_an_approver" },
  ],
  [
    "by each who approved it, once",
    change([by("ana"), by("bo"), by("ana")]),
    {},
    outOf("ana, bo"),
    { bo: true, cy: "not_an_approver" },
  ],
  [
    "of the intent alone, by any who may decide",
    change([]),
    { approvers: ["bo"] },
    byIntent,
    { bo: true, cy: "not_an_approver" },
  ],
  [
    "where no approver may decide any more, by one who may",
    change([by("ana")]),
    { approvers: ["bo"] },
    byOthers,
    { ana: true, bo: true, cy: "not_an_approver" },
  ],
  [
    "where one still may, by those who approved it",
    change([by("ana"), by("bo")]),
    { approvers: ["bo", "cy"] },
    outOf("bo"),
    { ana: true, cy: "not_an_approver" },
  ],
  ["where its approver cannot sign as asked, by another", change([by("ana")]), SIGNED, byOthers, { bo: true }],
  ["where its approver can sign", change([by("bo")]), SIGNED, outOf("bo"), { bo: true, ana: "not_an_approver" }],
  [
    "of an emergency, by its approver",
    change([by("OnCall", true)]),
    ONCALL,
    outOf("OnCall"),
    { oncall: true, bo: "not_an_approver" },
  ],
  [
    "of one whom the emergency no longer names",
    change([by("cy", true)]),
    ONCALL,
    byOthers,
    { bo: true, oncall: "not_an_approver" },
  ],
  [
    "of an emergency that the intent has no more",
    change([by("oncall", true)]),
    { approvers: ["bo"] },
    byOthers,
    { bo: true },
  ],
  [
    "of one named for emergencies who consented in the ordinary way",
    change([by("oncall")]),
    ONCALL,
    byOthers,
    { bo: true },
  ],
  [
    "of one that waits: revoking is no way",
    change([], { status: "pending_consent" }),
    {},
    "each person who may approve it may deny it",
    { bo: "not_an_approver" },
  ],
])("%s", (_, held, policy, words, tries) => {
  const { intent } = makeIntent({ policy, ...("signed_only" in policy && { principals: PRINCIPALS }) });
  expect(describeClosers(held, intent)).toBe(words);
  for (const [name, expected] of Object.entries(tries)) {
    const tried = () => requireRevoker(held, name, intent);
    if (expected === true) expect(tried, name).not.toThrow();
    else expect(tried, name).toThrow(expect.objectContaining({ code: expected }));
  }
});

test("a refusal names who asked", () => {
  expect(() => requireRevoker(change([by("ana")]), "cy", makeIntent().intent)).toThrow(
    "cy has not approved this change, and has nothing to take back",
  );
});
