/** Emergency consents by the rules alone: how many count, who gives and who reviews them. */
import { expect, test } from "vitest";
import {
  countEmergencyConsents,
  isEmergencyApproved,
  requireEmergencyApprover,
  requireReviewer,
  listReviewers,
} from "../../../../lib/changes/rules/break_glass.ts";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const emergency = (approver: string) => ({ approver, note: "", emergency: true });
const change = (approvals: object[] = [], over: object = {}): Change =>
  ({
    tier: "standard",
    tenant_id: "t1",
    target: "ui.banner",
    proposer: "Pat",
    review: null,
    approvals,
    ...over,
  }) as unknown as Change;
const under = (policy: object = {}, principals: object = {}) =>
  makeIntent({
    policy: { self_approval: false, break_glass: { approvers: ["Ona", "ben", "pat"], required: 2 }, ...policy },
    principals,
  }).intent;
const refused = (code: string, message: string) => expect.objectContaining({ code, message });

test.each<[string, object[], object, number]>([
  ["of nobody", [], {}, 0],
  ["of one", [emergency("ona")], {}, 1],
  ["of one twice, in two spellings", [emergency("ona"), emergency("ONA")], {}, 1],
  ["of two", [emergency("ona"), emergency("ben")], {}, 2],
  ["an ordinary one alongside", [emergency("ona"), { approver: "ben", note: "" }], {}, 1],
  ["of one who is not named", [emergency("ona"), emergency("cy")], {}, 1],
  ["of the proposer", [emergency("ona"), emergency("pat")], {}, 1],
  ["of the proposer, who may", [emergency("ona"), emergency("pat")], { self_approval: true }, 2],
])("emergency consents count %s", (_, approvals, policy, received) => {
  const intent = under(policy);
  expect(countEmergencyConsents(change(approvals), intent)).toEqual({ received, needed: 2 });
  expect(isEmergencyApproved(change(approvals), intent)).toBe(received === 2);
  expect(isEmergencyApproved(change(approvals, { review: undefined }), intent)).toBe(false);
  expect(countEmergencyConsents(change(approvals), makeIntent().intent)).toBeUndefined();
  expect(isEmergencyApproved(change(approvals), makeIntent().intent)).toBe(false);
});

test("an emergency's consent is for those whom the intent names, and for nobody's own change", () => {
  const asking =
    (name: string, intent = under()) =>
    () =>
      requireEmergencyApprover(change(), name, intent);
  expect(asking("ONA")).not.toThrow();
  const unnamed = (name: string) =>
    refused("not_an_approver", `${name} is not among those whom the intent names for an emergency`);
  expect(asking("cy")).toThrow(unnamed("cy"));
  expect(asking("ona", makeIntent().intent)).toThrow(unnamed("ona"));
  expect(asking("pat")).toThrow(refused("self_approval_forbidden", "pat proposed this change and may not approve it"));
  expect(asking("pat", under({ self_approval: true }))).not.toThrow();
});

test("a review is for those who may decide and had no part in it", () => {
  const reviewing =
    (name: string, approvals = [emergency("ona")]) =>
    () =>
      requireReviewer(change(approvals), name, under({ approvers: ["ona", "kim", "pat"] }));
  expect(reviewing("Kim")).not.toThrow();
  const hadPart = (name: string) =>
    refused("self_approval_forbidden", `${name} had a part in this change and may not review it`);
  expect(reviewing("ONA")).toThrow(hadPart("ONA"));
  expect(reviewing("ona", [emergency("ona"), emergency("ben")])).toThrow(hadPart("ona"));
  expect(reviewing("pat")).toThrow(hadPart("pat"));
  expect(reviewing("ben")).toThrow(expect.objectContaining({ code: "not_an_approver" }));
  const ordinary = { approver: "ona", note: "" } as unknown as ReturnType<typeof emergency>;
  expect(reviewing("ona", [ordinary])).not.toThrow();
});

test.each<[string, object, object, string[] | undefined]>([
  ["anybody, where the intent names nobody", {}, {}, undefined],
  ["those named, without the proposer and those who consented", { approvers: ["kim", "ona", "pat"] }, {}, ["kim"]],
  [
    "owners of the target too, once",
    { approvers: ["kim"], owners: [{ targets: ["ui.*"], approvers: ["lou", "kim"] }] },
    {},
    ["kim", "lou"],
  ],
  [
    "no owners of other targets",
    { approvers: ["kim"], owners: [{ targets: ["price.*"], approvers: ["lou"] }] },
    {},
    ["kim"],
  ],
  [
    "those who can sign, where only signed decisions count",
    {
      approvers: ["kim", "lou", "ona", "ben"],
      signed_only: true,
      owners: [{ targets: ["*"], approvers: ["max", "kim"] }],
    },
    Object.fromEntries(["kim", "ona", "ben"].map((name) => [name, person(passkey())])),
    ["kim", "ben"],
  ],
])("those who may review are %s", (_, policy, principals, names) => {
  expect(listReviewers(change([emergency("ona")]), under(policy, principals))).toEqual(names);
});
