/** Permissions for actions other than decisions on a change. */
import { expect, test } from "vitest";
import type { PermissionAction } from "../../../../lib/changes/rules/permission_lists.ts";
import {
  listKeylessPermissions,
  listPermittedNames,
  requirePermission,
} from "../../../../lib/changes/rules/permissions.ts";
import type { Actor } from "../../../../lib/changes/rules/actor.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

// prettier-ignore
const ACTIONS: PermissionAction[] = [
  "apply", "rollback", "freeze", "unfreeze", "restore", "feed_kpis", "erase", "accept_clock", "accept_loss", "note",
];
/**
 * Lists for all actions: `notes` is the list of `note`, and `accept_clock` also that of `accept_loss`. Each has one name in two
 * spellings, which counts once.
 */
const LISTED = Object.fromEntries(
  ["apply", "rollback", "freeze", "unfreeze", "restore", "feed_kpis", "erase", "accept_clock", "notes"].map(
    (action) => [action, ["Ops", "ops"]],
  ),
);
const break_glass = { approvers: ["oncall"] };

test("without lists all actions are open to all callers", () => {
  for (const action of ACTIONS) expect(listPermittedNames(action, makeIntent().intent), action).toBeUndefined();
  for (const action of ACTIONS)
    expect(listPermittedNames(action, makeIntent({ policy: { break_glass } }).intent), action).toBeUndefined();
});

test("without lists only approvers, also of emergencies, may unfreeze, erase or accept", () => {
  const { intent } = makeIntent({ policy: { approvers: ["ana", "bo"], break_glass: { approvers: ["bo", "oncall"] } } });
  for (const action of ACTIONS)
    expect(listPermittedNames(action, intent), action).toEqual(
      ["unfreeze", "erase", "accept_clock", "accept_loss"].includes(action) ? ["ana", "bo", "oncall"] : undefined,
    );
});

test.each<[name: string, permissions: object, principals: object, expected: string[]]>([
  ["without principals", { apply: ["ana"] }, {}, []],
  ["with the key of one name", { apply: ["bo", "ana"] }, { ana: person(passkey()), bo: { kind: "person" } }, []],
  ["without a key", { apply: ["bo"], freeze: ["ana"] }, { ana: person(passkey()), bo: { kind: "person" } }, ["apply"]],
  ["with the service's own name", { apply: ["policy:apply_when"] }, { ana: person(passkey()) }, []],
])("lists that no signature satisfies: %s", (_, permissions, principals, expected) => {
  const { intent } = makeIntent({ principals, policy: { permissions, signed_only: false } });
  expect(listKeylessPermissions(intent)).toEqual(expected);
});

test("a list permits the names in it and, for freeze and rollback, emergency approvers", () => {
  const { intent } = makeIntent({ policy: { approvers: ["ana"], permissions: LISTED, break_glass } });
  for (const action of ACTIONS)
    expect(listPermittedNames(action, intent), action).toEqual(
      ["freeze", "rollback"].includes(action) ? ["ops", "oncall"] : ["ops"],
    );
});

test("without emergency approvers a list permits only the names in it", () => {
  const permissions = { freeze: ["ops"] };
  expect(listPermittedNames("freeze", makeIntent({ policy: { permissions } }).intent)).toEqual(["ops"]);
  expect(listPermittedNames("unfreeze", makeIntent({ policy: { approvers: ["ana"] } }).intent)).toEqual(["ana"]);
});

const makeActor = (actor: string | null, authenticated: Actor["authenticated"] = "claimed"): Actor => ({
  actor,
  authenticated,
});
const PRINCIPALS = { ana: person(passkey()), cy: { kind: "person" } };
const OPEN = { approvers: ["ana"], signed_only: false };

test.each<[title: string, actor: Actor, action: PermissionAction, manifest: object, reason: string | undefined]>([
  ["a caller without a name may do an open action", makeActor(null, null), "apply", {}, undefined],
  [
    "a caller without a name may not do a listed action",
    makeActor(null, null),
    "apply",
    { policy: { permissions: LISTED } },
    "the request names nobody: say who acts in actor (--actor)",
  ],
  [
    "a name that is not listed may not",
    makeActor("eve"),
    "apply",
    { policy: { permissions: LISTED } },
    "eve is not one of them",
  ],
  [
    "a claimed listed name may if the intent has no principals",
    makeActor("OPS "),
    "apply",
    { policy: { permissions: LISTED } },
    undefined,
  ],
  [
    "a claimed listed name may not if the intent has principals",
    makeActor("ops"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: LISTED } },
    "nothing proves that this is ops: sign with a key of principals (--key), or let the proxy name ops (--identity-header)",
  ],
  [
    "a listed name from the proxy may",
    makeActor("ops", "proxy"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: LISTED } },
    undefined,
  ],
  [
    "a listed name with keys may, since its signature is required elsewhere",
    makeActor("ana"),
    "apply",
    { principals: PRINCIPALS, policy: { ...OPEN, permissions: { apply: ["ana"] } } },
    undefined,
  ],
  [
    "an approver may unfreeze without a list",
    makeActor("cy"),
    "unfreeze",
    { principals: PRINCIPALS, policy: { approvers: ["ana", "cy"], signed_only: false } },
    undefined,
  ],
])("%s", (_, actor, action, manifest, reason) => {
  const { intent } = makeIntent(manifest as never);
  const check = () => requirePermission(action, actor, intent);
  if (reason === undefined) return expect(check).not.toThrow();
  return expect(check).toThrow(
    expect.objectContaining({
      code: "not_permitted",
      message: `${action} is for ${listPermittedNames(action, intent)!.join(", ")}, and ${reason}`,
      details: { action },
    }),
  );
});
