/** Commands on a change, the context by which they are judged, and the events that follow. */
import type { Sha256 } from "../../kit/platform.ts";
import type { Actor } from "./actor.ts";
import type { LateItem, TargetLocation, ReviewVerdict } from "./change.ts";
import type { Content } from "./content.ts";
import type { ChangeEventType } from "./event.ts";
import type { Intent } from "./intent.ts";
import type { TargetOwner } from "./stale_target.ts";
import type { MandateApproval } from "./mandate_approval.ts";
import type { StepBase } from "./value_limits.ts";
import type { SignatureResult } from "./require_signature.ts";

/** An operation on the host product that moves the status of a change. */
export type Operation = "apply" | "rollback";

/**
 * `running` under a lease; `unresolved`: it failed, and the host has yet to say how it was left; `unanswered`: the host did not
 * even answer in time, so that what it does not show may still come.
 */
export type OperationState = "running" | "unresolved" | "unanswered";

type Required = "tenant_id" | "kind" | "target" | "summary";

/** Fields that a proposer may state: the content of a change; absent is "not stated". */
export type ProposeInput = Pick<Content, Required> & {
  [Field in Exclude<keyof Content, Required>]?: Exclude<Content[Field], null> | undefined;
} & { supersedes?: string | undefined };

/** A proposal as it is requested: one that promotes another change takes kind, target and value of that. */
export type RequestedProposal = Omit<ProposeInput, "kind" | "target"> & {
  [Field in "kind" | "target"]?: ProposeInput[Field] | undefined;
};

/** Who asked a model for its draft, and in which message. */
export interface DraftRequester {
  asked_by: string | null;
  /** A trusted proxy names them. */
  known?: boolean | undefined;
  message_id: string;
}

export type Command =
  | {
      type: "propose";
      input: ProposeInput;
      /** Minor changes granted on this UTC day. */
      minor_today: number;
      /** The first target that was rolled back in the last 24 hours, and when, if no person has approved a change of it since. */
      rolled_back?: { target: string; at: string } | undefined;
      /** The newest applied change of the target, for a change that may be minor. */
      target_owner?: TargetOwner;
      /** Other live changes of the same tenant and target, or of one that a plan sets. */
      live: readonly string[];
      /** The error of an agent that has reached one of its limits. */
      limit_reached?: Error | undefined;
      /** The first target that never held a number, where its steps are limited. */
      first_value?: string | undefined;
      /** Numbers that targets hold which no change of ours has set, where steps are limited. */
      step_base?: readonly StepBase[] | undefined;
      /** The error of a value that the intent does not allow, or that its target system cannot hold. */
      not_allowed?: Error | undefined;
      requester?: DraftRequester | undefined;
      /** The places that the values would be set at. */
      places?: readonly TargetLocation[] | undefined;
      /** Digests of what the places hold, of a proposal that may be minor; `null`: they could not be read. */
      seen?: readonly string[] | null | undefined;
      signature?: SignatureResult | undefined;
    }
  /** `target_owner`: the newest applied change of the target. */
  | {
      type: "approve";
      name: string;
      note: string;
      target_owner: TargetOwner;
      emergency?: boolean | undefined;
      /** Digests of what the places held, as the approver saw them. */
      seen?: readonly string[] | undefined;
      signature?: SignatureResult | undefined;
    }
  /** A mandate consents. */
  | { type: "mandate"; approval: MandateApproval; target_owner: TargetOwner; seen?: readonly string[] | undefined }
  | { type: "review"; name: string; note: string; verdict: ReviewVerdict; signature?: SignatureResult | undefined }
  /** An item that is missing on its record, added afterwards. */
  | { type: "note"; name: string; item: LateItem; note: string; signature?: SignatureResult | undefined }
  | { type: "deny" | "withdraw" | "revoke"; name: string; note: string; signature?: SignatureResult | undefined }
  | { type: "expire" }
  | { type: "lapse" }
  /** `owner`: the newest applied change of the target. */
  | { type: "erase"; name: string; note: string; owner: TargetOwner; signature?: SignatureResult | undefined }
  /** The operation is done. */
  | { type: "succeed"; operation: Operation; circumstance: object }
  /** The operation failed: at which stage, why, and how the host was left. */
  | { type: "fail"; operation: Operation; circumstance: { stage: string; error: string; host: string } }
  /** A rollout moves, or is found to hold, at its step. */
  | { type: "stage"; event: "advanced" | "held" | "resumed" | "stopped"; step: number; circumstance: object }
  /** Another tool asked for the release of a head. */
  | { type: "check_release"; circumstance: object }
  /** It no longer applies by itself. */
  | { type: "stop_automation"; code: string; reason: string }
  /** Its record differed from the log in these fields, and was rebuilt. */
  | { type: "rebuild"; fields: readonly string[] }
  /** The host does not show what was applied. */
  | { type: "drift"; circumstance: { state: string; host: string } }
  /** The value of the change was set again where its target held another. */
  | { type: "restore"; circumstance: object };

/** Context by which a command is judged. */
export interface Context {
  intent: Intent;
  manifest_hash: string;
  sha256: Sha256;
  actor: Actor;
}

/** The event that follows from a command, and the content where that is new or changed. */
export interface NewEvent {
  event_type: ChangeEventType;
  detail: object;
  content?: Content;
}
