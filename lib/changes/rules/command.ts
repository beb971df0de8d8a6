/** Commands on a change, their context, and the events that they lead to. */
import type { Sha256 } from "../../kit/platform.ts";
import type { Actor } from "./actor.ts";
import type { LateItem, TargetLocation, ReviewVerdict } from "./change.ts";
import type { Content } from "./content.ts";
import type { ChangeEventType } from "./event.ts";
import type { Intent } from "./intent.ts";
import type { ChangeInForce } from "./stale_target.ts";
import type { MandateApproval } from "./mandate_approval.ts";
import type { StepBase } from "./value_limits.ts";
import type { SignatureResult } from "./require_signature.ts";

/** An operation on the host product that moves the status of a change. */
export type Operation = "apply" | "rollback";

/**
 * `running` under a lease; `unresolved`: it failed, and the host has not yet said what state it left; `unanswered`: the host did
 * not answer in time, so an effect that the host does not show yet may still appear.
 */
export type OperationState = "running" | "unresolved" | "unanswered";

type RequiredField = "tenant_id" | "kind" | "target" | "summary";

/** Fields that a proposer may state: the content of a change; absent is "not stated". */
export type ProposeInput = Pick<Content, RequiredField> & {
  [Field in Exclude<keyof Content, RequiredField>]?: Exclude<Content[Field], null> | undefined;
} & { supersedes?: string | undefined };

/** A proposal as requested. With `promotes` it takes kind, target and value from the promoted change. */
export type RequestedProposal = Omit<ProposeInput, "kind" | "target"> & {
  [Field in "kind" | "target"]?: ProposeInput[Field] | undefined;
};

/** Who asked a model for its draft, and in which message. */
export interface DraftRequester {
  asked_by: string | null;
  /** True if a trusted proxy vouches for the name. */
  isVerified?: boolean | undefined;
  message_id: string;
}

export type Command =
  | {
      type: "propose";
      input: ProposeInput;
      /** Minor changes granted on this UTC day. */
      minor_today: number;
      /**
       * The first target that was rolled back in the last 24 hours, and when, if no person has approved a change of it since.
       */
      rolled_back?: { target: string; at: string } | undefined;
      /** The newest applied change of the target, for a change that may be minor. */
      target_owner?: ChangeInForce;
      /** Other open changes of the same tenant and target, or of a target that a plan sets. */
      openChanges: readonly string[];
      /** The error of an agent that has reached one of its limits. */
      limit_reached?: Error | undefined;
      /** The first target with limited steps that never held a number. */
      first_value?: string | undefined;
      /** Numbers that targets with limited steps hold, and that no change of this service set. */
      step_base?: readonly StepBase[] | undefined;
      /** The error of a value that the intent does not allow, or that its target system cannot hold. */
      not_allowed?: Error | undefined;
      requester?: DraftRequester | undefined;
      /** Locations of the proposed values. */
      places?: readonly TargetLocation[] | undefined;
      /** Digests of the current values, for a proposal that may be minor; `null`: they could not be read. */
      seen?: readonly string[] | null | undefined;
      signature?: SignatureResult | undefined;
    }
  | {
      type: "approve";
      name: string;
      note: string;
      /** The newest applied change of the target. */
      target_owner: ChangeInForce;
      emergency?: boolean | undefined;
      /** Digests of the values that the approver saw. */
      seen?: readonly string[] | undefined;
      signature?: SignatureResult | undefined;
    }
  /** A mandate consents. */
  | { type: "mandate"; approval: MandateApproval; target_owner: ChangeInForce; seen?: readonly string[] | undefined }
  | { type: "review"; name: string; note: string; verdict: ReviewVerdict; signature?: SignatureResult | undefined }
  /** Adds an item that is missing on the record. */
  | { type: "note"; name: string; item: LateItem; note: string; signature?: SignatureResult | undefined }
  | { type: "deny" | "withdraw" | "revoke"; name: string; note: string; signature?: SignatureResult | undefined }
  /** The change has waited too long for consent. */
  | { type: "expire" }
  /** The change was approved, and has waited too long for its apply. */
  | { type: "lapse" }
  | { type: "erase"; name: string; note: string; target_owner: ChangeInForce; signature?: SignatureResult | undefined }
  /** The operation is done. */
  | { type: "succeed"; operation: Operation; circumstance: object }
  /** The operation failed: at which stage, why, and how the host was left. */
  | { type: "fail"; operation: Operation; circumstance: { stage: string; error: string; host: string } }
  /** A rollout advances, or holds at its step. */
  | { type: "stage"; event: "advanced" | "held" | "resumed" | "stopped"; step: number; circumstance: object }
  /** Another tool requested the release of a commit. */
  | { type: "check_release"; circumstance: object }
  /** Stops the automatic apply. */
  | { type: "stop_automation"; code: string; reason: string }
  /** The record of the change differed from the log in these fields, and was rebuilt. */
  | { type: "rebuild"; fields: readonly string[] }
  /** The target system does not hold the applied value. */
  | { type: "drift"; circumstance: { state: string; host: string } }
  /** The value of the change was restored on a target that held another. */
  | { type: "restore"; circumstance: object };

/** The rules in force, and the actor of a command. */
export interface Context {
  intent: Intent;
  manifest_hash: string;
  sha256: Sha256;
  actor: Actor;
}

/** The event of a command, and the content of the change if it is new or changed. */
export interface NewEvent {
  event_type: ChangeEventType;
  detail: object;
  content?: Content;
}
