/** Who may do what apart from deciding on a change, action by action. */
import { expect, test } from "vitest";
import type { PermissionAction } from "../../../../lib/changes/rules/permission_lists.ts";
import { listPermittedNames, requirePermission } from "../../../../lib/changes/rules/permissions.ts";
import type { Actor } from "../../../../lib/changes/rules/actor.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const ACTIONS: PermissionAction[] = [
  ...(["apply", "rollback", "freeze", "unfreeze", "restore", "feed_kpis", "erase"] as const),
  ...(["accept_clock", "accept_loss", "note"] as const),
];
const LISTED = Object.fromEntries(
  ["apply", "rollback", "freeze", "unfreeze", "restore", "feed_kpis", "erase", "accept_clock", "notes"].map(
    (action) => [action, ["Ops", "ops"]],
  ),
);
const break_glass = { approvers: ["oncall"] };

test("without any list everything is open", () => {
  for (const action of ACTIONS) expect(listPermittedNames(action, makeIntent().intent), action).toBeUndefined();
  for (const action of ACTIONS)
    expect(listPermittedNames(action, makeIntent({ policy: { break_glass } }).intent), action).toBeUndefined();
});

test("what releases a brake or removes evidence is for those who may approve", () => {
  const { intent } = makeIntent({ policy: { approvers: ["ana", "bo"], break_glass: { approvers: ["bo", "oncall"] } } });
  for (const action of ACTIONS)
    expect(listPermittedNames(action, intent), action).toEqual(
      ["unfreeze", "erase", "accept_clock", "accept_loss"].includes(action) ? ["ana", "bo", "oncall"] : undefined,
    );
});

test("a list is for those whom it names, and for an emergency's approvers where one needs it", () => {
  const { intent } = makeIntent({ policy: { approvers: ["ana"], permissions: LISTED, break_glass } });
  for (const action of ACTIONS)
    expect(listPermittedNames(action, intent), action).toEqual(
      ["freeze", "rollback"].includes(action) ? ["ops", "oncall"] : ["ops"],
    );
});

test("without an emergency's approvers a list is what it names", () => {
  const permissions = { freeze: ["ops"] };
  expect(listPermittedNames("freeze", makeIntent({ policy: { permissions } }).intent)).toEqual(["ops"]);
  expect(listPermittedNames("unfreeze", makeIntent({ policy: { approvers: ["ana"] } }).intent)).toEqual(["ana"]);
});

const claims = (actor: string | null, authenticated: Actor["authenticated"] = "claimed"): Actor => ({
  actor,
  authenticated,
});
const PRINCIPALS = { ana: person(passkey()), cy: { kind: "person" } };
const OPEN = { approvers: ["ana"], signed_only: false };

test.each<[string, Actor, PermissionAction, object, string | undefined]>([
  ["nobody, of an open action", claims(null, null), "apply", {}, undefined],
  [
    "nobody, of a listed one",
    claims(null, null),
    "apply",
    { policy: { permissions: LISTED } },
    "nobody is named in actor",
  ],
  ["another", claims("eve"), "apply", { policy: { permissions: LISTED } }, "eve is not one of them"],
  [
    "a listed name where names are taken at their word",
    claims("OPS "),
    "apply",
    { policy: { permissions: LISTED } },
    undefined,
  ],
  [
    "a listed name that is only claimed",
    claims("ops"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: LISTED } },
    "nothing but the request says that this is ops",
  ],
  [
    "a listed name that the proxy names",
    claims("ops", "proxy"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: LISTED } },
    undefined,
  ],
  [
    "a listed name with keys, which signs",
    claims("ana"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: { apply: ["ana"] } } },
    undefined,
  ],
  [
    "an approver without a list",
    claims("cy"),
    "unfreeze",
    { principals: PRINCIPALS, policy: { approvers: ["ana", "cy"], signed_only: false } },
    undefined,
  ],
])("%s", (_, actor, action, manifest, refusal) => {
  const judge = () => requirePermission(action, actor, makeIntent(manifest as never).intent);
  if (refusal === undefined) return expect(judge).not.toThrow();
  return expect(judge).toThrow(
    expect.objectContaining({
      code: "not_permitted",
      message: expect.stringMatching(`^${action} is for .*, and ${refusal}$`),
      details: { action },
    }),
  );
});
