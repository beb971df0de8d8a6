/** Rules of emergency consents: their number, their approvers and their reviewers. */
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
/** A change that an emergency has approved; only such a change has the member `review`. */
const change = (approvals: object[] = [], overrides: object = {}): Change =>
  ({
    tier: "standard",
    tenant_id: "t1",
    target: "ui.banner",
    proposer: "Pat",
    review: null,
    approvals,
    ...overrides,
  }) as unknown as Change;
const makeIntentWith = (policy: object = {}, principals: object = {}) =>
  makeIntent({
    policy: { self_approval: false, break_glass: { approvers: ["Ona", "ben", "pat"], required: 2 }, ...policy },
    principals,
  }).intent;
const errorWith = (code: string, message: string) => expect.objectContaining({ code, message });

test.each<[string, object[], object, number]>([
  ["of no approver", [], {}, 0],
  ["of one approver", [emergency("ona")], {}, 1],
  ["of one approver in two spellings once", [emergency("ona"), emergency("ONA")], {}, 1],
  ["of two approvers", [emergency("ona"), emergency("ben")], {}, 2],
  ["of one approver, and not an ordinary consent", [emergency("ona"), { approver: "ben", note: "" }], {}, 1],
  ["of one approver, and not of a name that the intent does not list", [emergency("ona"), emergency("cy")], {}, 1],
  ["of one approver, and not of the proposer", [emergency("ona"), emergency("pat")], {}, 1],
  ["of the proposer if self_approval is allowed", [emergency("ona"), emergency("pat")], { self_approval: true }, 2],
])("emergency consents count %s", (_, approvals, policy, received) => {
  const intent = makeIntentWith(policy);
  expect(countEmergencyConsents(change(approvals), intent)).toEqual({ received, needed: 2 });
  expect(isEmergencyApproved(change(approvals), intent)).toBe(received === 2);
  expect(isEmergencyApproved(change(approvals, { review: undefined }), intent)).toBe(false);
  expect(countEmergencyConsents(change(approvals), makeIntent().intent)).toBeUndefined();
  expect(isEmergencyApproved(change(approvals), makeIntent().intent)).toBe(false);
});

test("an emergency consent is rejected from other names and from the proposer", () => {
  const approveAs =
    (name: string, intent = makeIntentWith()) =>
    () =>
      requireEmergencyApprover(change(), name, intent);
  expect(approveAs("ONA")).not.toThrow();
  const notListedError = (name: string) =>
    errorWith("not_an_approver", `${name} is not among those whom the intent names for an emergency`);
  expect(approveAs("cy")).toThrow(notListedError("cy"));
  expect(approveAs("ona", makeIntent().intent)).toThrow(notListedError("ona"));
  expect(approveAs("pat")).toThrow(
    errorWith("self_approval_forbidden", "pat proposed this change and may not approve it"),
  );
  expect(approveAs("pat", makeIntentWith({ self_approval: true }))).not.toThrow();
});

test("a review is rejected from the proposer, emergency approvers and others", () => {
  const reviewAs =
    (name: string, approvals = [emergency("ona")]) =>
    () =>
      requireReviewer(change(approvals), name, makeIntentWith({ approvers: ["ona", "kim", "pat"] }));
  expect(reviewAs("Kim")).not.toThrow();
  const hadPartError = (name: string) =>
    errorWith("self_approval_forbidden", `${name} had a part in this change and may not review it`);
  expect(reviewAs("ONA")).toThrow(hadPartError("ONA"));
  expect(reviewAs("ona", [emergency("ona"), emergency("ben")])).toThrow(hadPartError("ona"));
  expect(reviewAs("pat")).toThrow(hadPartError("pat"));
  expect(reviewAs("ben")).toThrow(expect.objectContaining({ code: "not_an_approver" }));
  const ordinary = { approver: "ona", note: "" } as unknown as ReturnType<typeof emergency>;
  expect(reviewAs("ona", [ordinary])).not.toThrow();
});

test.each<[string, object, object, string[] | undefined]>([
  ["all names if the intent lists none", {}, {}, undefined],
  ["the approvers without the proposer and those who consented", { approvers: ["kim", "ona", "pat"] }, {}, ["kim"]],
  [
    "also owners of the target, once",
    { approvers: ["kim"], owners: [{ targets: ["ui.*"], approvers: ["lou", "kim"] }] },
    {},
    ["kim", "lou"],
  ],
  [
    "not owners of other targets",
    { approvers: ["kim"], owners: [{ targets: ["price.*"], approvers: ["lou"] }] },
    {},
    ["kim"],
  ],
  [
    "those with keys if only signed decisions count",
    {
      approvers: ["kim", "lou", "ona", "ben"],
      signed_only: true,
      owners: [{ targets: ["*"], approvers: ["max", "kim"] }],
    },
    Object.fromEntries(["kim", "ona", "ben"].map((name) => [name, person(passkey())])),
    ["kim", "ben"],
  ],
])("the reviewers of an emergency are %s", (_, policy, principals, names) => {
  expect(listReviewers(change([emergency("ona")]), makeIntentWith(policy, principals))).toEqual(names);
});
