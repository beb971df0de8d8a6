/** Tests how the verifier derives a change's statuses from its entries, and who must have signed an entry. */
import { expect, test } from "vitest";
import { deriveStatuses, findRequiredSigner } from "../../../local/verify/change_life.ts";
import { applied, approved, consent, type Detail, proposed, recorded, type Step } from "./recorded_life.ts";

const denied: Step = ["consent_decision", { decision: "denied", approver: "ana" }];
const revoked: Step = ["consent_decision", { decision: "revoked", approver: "ana", from: "approved" }];
const proposedRollout: Step = ["change_proposed", { stages: {} }];
const SAYS_NOTHING = "its status does not say whether it approves the change";
const mustBe = (needed: string, status: string): string =>
  `the change must be ${needed} before this entry, but the earlier entries make it ${status}`;

/** `statuses`: the status after each step; `messages`: the findings. */
test.each<[change: string, steps: Step[], statuses: string[], messages: string[], tier?: string]>([
  ["approved and applied", [proposed, approved, applied], ["pending_consent", "approved", "applied"], []],
  ["minor", [proposed, applied], ["approved", "applied"], [], "minor"],
  ["denied", [proposed, denied], ["pending_consent", "denied"], []],
  ["revoked", [proposed, approved, revoked], ["pending_consent", "approved", "denied"], []],
  [
    "consented to by two",
    [proposed, consent("ana"), consent("bo", "approved")],
    ["pending_consent", "pending_consent", "approved"],
    [],
  ],
  [
    "consented to after its approval",
    [proposed, approved, consent("bo", "approved", { from: "approved" })],
    ["pending_consent", "approved", "approved"],
    [],
  ],
  [
    "pending after its approval",
    [proposed, approved, consent("bo", "pending_consent", { from: "approved" })],
    ["pending_consent", "approved", "approved"],
    [SAYS_NOTHING],
  ],
  ["in no status", [proposed, consent("ana", "applied")], ["pending_consent", "pending_consent"], [SAYS_NOTHING]],
  [
    "applied without approval",
    [proposed, applied],
    ["pending_consent", "applied"],
    [mustBe("approved", "pending_consent")],
  ],
  ["proposed twice", [proposed, proposed], ["pending_consent", "pending_consent"], [mustBe("new", "pending_consent")]],
  ["recorded only from its apply on", [applied], ["applied"], []],
  [
    "rolled back and then restored",
    [proposed, approved, applied, ["change_rolled_back"], ["value_restored"]],
    ["pending_consent", "approved", "applied", "rolled_back", "applied"],
    [mustBe("applied", "rolled_back")],
  ],
  [
    "reported to have drifted before its approval",
    [proposed, ["change_drifted"], approved],
    ["pending_consent", "pending_consent", "approved"],
    [],
  ],
  [
    "rolled out",
    [proposed, approved, applied, ["stage_advanced"], ["stage_held"], ["stage_resumed"], ["stage_stopped"]],
    ["pending_consent", "approved", ...Array.from({ length: 5 }, () => "applied")],
    [],
  ],
  [
    "consented to during its rollout",
    [proposedRollout, approved, applied, consent("bo", "applied", { from: "applied" }), ["stage_advanced"]],
    ["pending_consent", "approved", "applied", "applied", "applied"],
    [],
  ],
  [
    "approved again by a consent during its rollout",
    [proposedRollout, approved, applied, consent("bo", "approved", { from: "applied" })],
    ["pending_consent", "approved", "applied", "applied"],
    [SAYS_NOTHING],
  ],
  [
    "recorded as consented to during its rollout, but not applied yet",
    [proposedRollout, approved, consent("bo", "applied", { from: "applied" })],
    ["pending_consent", "approved", "applied"],
    [mustBe("applied", "approved")],
  ],
  [
    "denied during its rollout",
    [proposedRollout, approved, applied, ["consent_decision", { decision: "denied", from: "applied" }]],
    ["pending_consent", "approved", "applied", "denied"],
    [mustBe("approved", "applied")],
  ],
  [
    "consented to after its apply without a rollout",
    [proposed, approved, applied, consent("bo", "applied", { from: "applied" })],
    ["pending_consent", "approved", "applied", "applied"],
    [mustBe("approved", "applied"), SAYS_NOTHING],
  ],
])("a change that is %s", (_, steps, statuses, messages, tier = "standard") => {
  const found: string[] = [];
  expect(deriveStatuses(recorded(steps), tier, (_id, _rule, message) => found.push(message))).toEqual(statuses);
  expect(found).toEqual(messages);
});

// `undefined`: the entry names no signer; `null`: it needs no signature.
test.each<[event: string, detail: Detail, by: string | undefined | null]>([
  ["content_erased", { actor: "ana" }, "ana"],
  ["loss_accepted", {}, undefined],
  ["stage_resumed", { actor: "ana" }, "ana"],
  ["stage_advanced", { actor: "ana", reason: "manual" }, "ana"],
  ["stage_advanced", { reason: "manual" }, null],
  ["stage_advanced", { actor: "ana", reason: "proven" }, null],
  ["stage_held", { actor: "ana", reason: "manual" }, null],
  ["mandate_signed", { approver: "ana" }, "ana"],
  ["mandate_ended", { approver: "ana", reason: "revoked" }, "ana"],
  ["mandate_ended", { reason: "expired" }, null],
  ["mandate_suspended", { approver: "ana" }, null],
  ["consent_decision", { approver: "ana", decision: "approved" }, "ana"],
  ["consent_decision", { approver: "ana", decision: "withdrawn" }, null],
  ["consent_decision", { approver: "mandate:m1", decision: "approved" }, null],
  ["emergency_reviewed", { approver: "ana" }, "ana"],
  ["change_applied", { actor: "ana" }, null],
])("%s of %j must be signed by %s", (event, detail, by) => {
  expect(findRequiredSigner(recorded([[event, detail]])[0]!)).toEqual(by === null ? undefined : { by });
});
