/** Records of changes in the store, by collection. */
import { AppError } from "../kit/errors.ts";
import type { Reads, CollectionRecord, Stored } from "../store/store.ts";
import { createMismatchError } from "./mismatch.ts";
import type { Actor } from "./rules/actor.ts";
import { findAutomationTime } from "./rules/apply_when.ts";
import type { Change } from "./rules/change.ts";
import type { Operation, OperationState } from "./rules/command.ts";
import type { GuardrailEvidence } from "./rules/guardrail.ts";
import type { KpiState } from "./rules/kpi.ts";
import { normalizeName } from "./rules/names.ts";
import { normalizeTarget, type TargetKey } from "./rules/target_key.ts";
import { type ChangeRecord, isRecord } from "./rules/record.ts";
import { fromStoredChange, type StoredChange } from "./rules/stored_record.ts";
import type { MovedLocations } from "./locations.ts";
import type { StepBase } from "./rules/value_limits.ts";
import type { MovedValues } from "./rules/moved_value.ts";
import type { ChangesInForce } from "./rules/stale_target.ts";
import type { Identity } from "./runtime.ts";

declare module "../store/store.ts" {
  interface Collections {
    changes: StoredChange;
    /** `refused`: proposals of the day that the intent forbids. */
    counts: Singles<{ refused: DayCount }>;
    kpi: Singles<{ latest: KpiState }>;
    /** `<target\ntenant\nchange_id>`: operations that run, or whose outcome is not resolved. */
    leases: Lease;
    /** Changes whose emergency consent waits for its review. */
    review_due: true;
    /** `<target\ntenant\nchange_id>`: pending and approved changes. */
    live_by_target: true;
    /** `<agent\nchange_id>`: pending and approved changes that agents proposed. */
    live_by_agent: true;
    /** Number of proposals of an agent on the last UTC day on which it proposed. */
    proposed_by_agent: DayCount;
    /** `<RFC 3339 time\nchange_id>`: approved changes that apply by themselves, by when they are due. */
    applies_due: true;
    /** Drafts of models that may still wait for consent, by change. */
    llm_drafts: true;
    /** The newest draft of a model, by the digest of its effect. */
    llm_drafted: string;
    /** The canonical text of each manifest that was ever in force, by its hash. */
    manifests: string;
    /** `<target\ntenant\n>`: the entry of the last apply that set a value on the target; it stays after a rollback. */
    set_targets: number;
    /** `<target\ntenant\napplied entry>`: the applied changes of a target; the last of them is its owner, the change in force. */
    owners: string;
  }
  interface Meta {
    identity: Identity;
    /** The manifest in force. */
    intent: { manifest_hash: string };
    /** The configuration of target systems in force. */
    targets: { hash: string };
  }
}

/** An operation, its actor and its reason. */
export interface OperationRequest extends Actor {
  operation: Operation;
  signed?: SignedRequest | undefined;
  note?: string | undefined;
  /** The regression that a guardrail measured. */
  evidence?: GuardrailEvidence | undefined;
  /** The changes in force at the consent and now, if they differ and the intent only reports that. */
  target_moved?: ChangesInForce | undefined;
  /** Locations that hold another value than a consent saw, if the intent only reports that. */
  value_moved?: MovedValues["moved"] | undefined;
  /** Numbers that a target with limited steps held before an apply, and that no change of this service had set. */
  step_base?: readonly StepBase[] | undefined;
  /** The location of a rollback over drift, if the configuration has moved it since the proposal. */
  place_moved?: MovedLocations["now"] | undefined;
  /** The rollback restores over a value that another program set. */
  over_drift?: boolean | undefined;
  /** The change was approved in an emergency. */
  emergency?: true | undefined;
  /** Fields in which the stored record did not match the log; the operation uses the log. */
  mended?: readonly string[] | undefined;
}

/** The signature of a request: its facts for the entry, and the hash of the intent that its statement names. */
export interface SignedRequest {
  manifest_hash: string;
  facts: object;
}

/** A restore, its actor and its reason. */
export interface RestoreRequest extends Actor {
  operation: "restore";
  note?: string | undefined;
  signed?: SignedRequest | undefined;
  /** Id of the restore; unique among the restores of the change. */
  restore_id: string;
}

/** An advance of a rollout on its target system, and its actor. */
export interface StageRequest extends Actor {
  operation: "stage";
  signed?: SignedRequest | undefined;
  /** The step whose split is set; after the last step, the value for all users. */
  step: number;
  /** The facts of the decision, for the entry. */
  circumstance: object;
}

/** The durable intention to run the adapter. */
export type Lease = OperationLease | RestoreLease | StageLease;
export type OperationLease = OperationRequest & LeaseFacts & TakenLease;
export type RestoreLease = RestoreRequest & LeaseFacts;
export type StageLease = StageRequest & LeaseFacts;

/** A write whose lease a rollback took over before its outcome was known. */
export interface TakenLease {
  unresolved_restore?: RestoreLease | undefined;
  unresolved_stage?: StageLease | undefined;
}

/** Facts of every lease. */
export interface LeaseFacts {
  change_id: string;
  /** Key of the lease in `leases`. */
  place: string;
  /** Id of the process that runs the operation. */
  owner: string;
  /** One more than the log's length when it was taken. */
  number: number;
  at: string;
  /** Milliseconds since the epoch; any process may resolve it afterwards. */
  ends: number;
  /**
   * True if the host is allowed to show nothing of the change after this rollback: it showed the change before the rollback, or a
   * later change is in force.
   */
  mayBeGone?: true | undefined;
  state: OperationState;
  /** Present while the effect of a failed or interrupted operation is rolled back; `failed`: its failure is recorded already. */
  back?: "interrupted" | "failed" | undefined;
}

/** A count of a UTC day; only the newest day is stored. */
export interface DayCount {
  day: string;
  count: number;
}

/** Reads the stored record of a change, valid or not. Errors: 404 `change_not_found`. */
export async function readStoredChange(reads: Pick<Reads, "get">, changeId: string): Promise<ChangeRecord> {
  const stored = await reads.get("changes", changeId);
  if (!stored) throw changeNotFound(changeId);
  return fromStoredChange(stored);
}

/** Creates the error 404 for an id that names no change that the caller may see. */
export const changeNotFound = (changeId: string): AppError =>
  new AppError("change_not_found", `there is no change ${changeId}`, { change_id: changeId });

/** Reads a change's record for display. Errors: 404 `change_not_found`, 409 `evidence_mismatch` if it is malformed. */
export async function findChange(reads: Pick<Reads, "get">, changeId: string): Promise<ChangeRecord> {
  const record = await readStoredChange(reads, changeId);
  if (!isRecord(record)) throw createMismatchError(changeId, ["record"]);
  return record;
}

/** Reads a change's record; undefined if it is missing or malformed. */
export async function readRecord(reads: Pick<Reads, "get">, changeId: string): Promise<ChangeRecord | undefined> {
  const stored = await reads.get("changes", changeId);
  return stored && toValidRecord(stored);
}

/** Reads the records of changes, in their order; undefined for a missing or malformed record. */
export async function readRecords(
  reads: Pick<Reads, "getMany">,
  changeIds: readonly string[],
): Promise<(ChangeRecord | undefined)[]> {
  const records = await reads.getMany("changes", changeIds);
  return records.map((stored) => stored && toValidRecord(stored));
}

function toValidRecord(stored: Stored<CollectionRecord<"changes">>): ChangeRecord | undefined {
  const record = fromStoredChange(stored);
  return isRecord(record) ? record : undefined;
}

/** Formats a target key as the beginning of ids in indexes by target; neither part has a line break. */
export const formatTargetKey = ({ target, tenant_id }: TargetKey): string =>
  `${normalizeTarget(target)}\n${tenant_id}\n`;

/** Formats the key of a change in an index by target. */
export const formatTargetChangeKey = (change: TargetKey & Pick<Change, "change_id">): string =>
  formatTargetKey(change) + change.change_id;

/** Formats the beginning of an agent's ids in indexes by agent; no name has a line break. */
export const formatAgentKey = (agent: string): string => `${normalizeName(agent)}\n`;

/** Formats the key of a change in an index by agent; undefined if no agent proposed it. */
export const formatAgentChangeKey = ({ proposer, proposer_kind, change_id }: Change): string | undefined =>
  proposer_kind === "agent" && proposer !== null ? formatAgentKey(proposer) + change_id : undefined;

/** Formats the key of a change that applies automatically; undefined if it is not approved, or a person applies it. */
export function formatDueApplyKey(change: Change): string | undefined {
  const due = findAutomationTime(change);
  return due === undefined ? undefined : `${due}\n${change.change_id}`;
}

/** Maximum number of listed changes of one target. */
export const MAX_LISTED_CHANGES = 10;

/** Lists up to ten other open changes of a target, by the store's index. */
export async function listIndexedOpenChanges(
  reads: Pick<Reads, "list">,
  target: TargetKey,
  except?: string,
): Promise<string[]> {
  const prefix = formatTargetKey(target);
  // One more, since `except` may be one of them.
  const page = await reads.list("live_by_target", { prefix, limit: MAX_LISTED_CHANGES + 1, keysOnly: true });
  const ids = page.map(({ id }) => id.slice(prefix.length));
  return ids.filter((id) => id !== except).slice(0, MAX_LISTED_CHANGES);
}
