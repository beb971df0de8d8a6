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
import { normalizeTarget } from "./rules/target_key.ts";
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
    counts: Singles<{ refused: DayCount }>;
    kpi: Singles<{ latest: KpiState }>;
    /** `<target\ntenant\nchange_id>` */
    leases: Lease;
    /** Changes whose emergency consent waits for its review. */
    review_due: true;
    /** `<target\ntenant\nchange_id>`: pending and approved changes. */
    live_by_target: true;
    /** `<agent\nchange_id>`: pending and approved changes that agents proposed. */
    live_by_agent: true;
    /** Proposals by agent, of the newest UTC day with any. */
    proposed_by_agent: DayCount;
    /** `<RFC 3339 time\nchange_id>`: approved changes that apply by themselves, by when they are due. */
    applies_due: true;
    /** Drafts of models that may still wait for consent, by change. */
    llm_drafts: true;
    /** The newest draft of a model by the digest of what it would do. */
    llm_drafted: string;
    /** The canonical text of each manifest that was ever in force, by its hash. */
    manifests: string;
    /** `<target\ntenant\n>`: the entry of the last apply that set a value there; it stays after a rollback. */
    set_targets: number;
    /** `<target\ntenant\napplied entry>`: the applied changes of a target; the last owns it. */
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
  /** Owners of the target that differ and that the intent only reports. */
  target_moved?: ChangesInForce | undefined;
  /** Places that hold another value than a consent saw, which the intent only reports. */
  value_moved?: MovedValues["moved"] | undefined;
  /** Numbers that the target held before an apply and that no change of ours had set, where its steps are limited. */
  step_base?: readonly StepBase[] | undefined;
  /** The place of a rollback over drift, where the configuration gives another than the proposal. */
  place_moved?: MovedLocations["now"] | undefined;
  /** The rollback restores over a value that another program set. */
  over_drift?: boolean | undefined;
  /** The change was approved in an emergency. */
  emergency?: true | undefined;
  /** Fields in which the stored record did not match the log; the operation goes by the log. */
  mended?: readonly string[] | undefined;
}

/** The signature of a request: what it adds to the entry, and the intent that its statement names. */
export interface SignedRequest {
  manifest_hash: string;
  facts: object;
}

/** A restore, its actor and its reason. */
export interface RestoreRequest extends Actor {
  operation: "restore";
  note?: string | undefined;
  signed?: SignedRequest | undefined;
  /** Names the restore among those of the change. */
  restore_id: string;
}

/** An advance of a rollout on its target system, and its actor. */
export interface StageRequest extends Actor {
  operation: "stage";
  signed?: SignedRequest | undefined;
  /** The step whose split is set; past the last step, the value for everybody. */
  step: number;
  /** The facts of the decision, for the entry. */
  circumstance: object;
}

/** The durable intention to run the adapter. */
export type Lease = OperationLease | RestoreLease | StageLease;
export type OperationLease = OperationRequest & LeaseFacts & TakenLease;
export type RestoreLease = RestoreRequest & LeaseFacts;
export type StageLease = StageRequest & LeaseFacts;

/** A write whose lease a rollback took over: it is not known yet whether that set the value. */
export interface TakenLease {
  unresolved_restore?: RestoreLease | undefined;
  unresolved_stage?: StageLease | undefined;
}

/** Facts of every lease. */
export interface LeaseFacts {
  change_id: string;
  /** Key of the record. */
  place: string;
  /** The process that runs it. */
  owner: string;
  /** One more than the log's length when it was taken. */
  number: number;
  at: string;
  /** Milliseconds since the epoch; any process may resolve it afterwards. */
  ends: number;
  /** The host need not show anything of the change after this rollback: it did before, or a later change holds the target. */
  mayBeGone?: true | undefined;
  state: OperationState;
  /** Present while its effect is taken back, whatever the host shows; `failed`: its failure is on record. */
  back?: "interrupted" | "failed" | undefined;
}

/** How many there were on a UTC day; only the newest day is kept. */
export interface DayCount {
  day: string;
  count: number;
}

/** Reads the stored record of a change, valid or not. Errors: 404 `change_not_found`. */
export async function readStoredChange(reads: Pick<Reads, "get">, changeId: string): Promise<ChangeRecord> {
  const found = await reads.get("changes", changeId);
  if (!found) throw changeNotFound(changeId);
  return fromStoredChange(found);
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
  const found = await reads.get("changes", changeId);
  return found && toValidRecord(found);
}

/** Reads the records of changes, in their order; undefined for a missing or malformed one. */
export async function readRecords(
  reads: Pick<Reads, "getMany">,
  changeIds: readonly string[],
): Promise<(ChangeRecord | undefined)[]> {
  const found = await reads.getMany("changes", changeIds);
  return found.map((stored) => stored && toValidRecord(stored));
}

function toValidRecord(stored: Stored<CollectionRecord<"changes">>): ChangeRecord | undefined {
  const record = fromStoredChange(stored);
  return isRecord(record) ? record : undefined;
}

/** A target of a tenant. */
export type TargetKey = Pick<Change, "target" | "tenant_id">;

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

/** Formats the key of a change that applies automatically; undefined if a person applies it. */
export function formatDueApplyKey(change: Change): string | undefined {
  const due = findAutomationTime(change);
  return due === undefined ? undefined : `${due}\n${change.change_id}`;
}

/** Maximum number of changes of a target that are named. */
export const MAX_LISTED_CHANGES = 10;

/** Lists up to ten other live changes of a target. */
export async function listLiveChanges(
  reads: Pick<Reads, "list">,
  target: TargetKey,
  except?: string,
): Promise<string[]> {
  const prefix = formatTargetKey(target);
  const page = await reads.list("live_by_target", { prefix, limit: MAX_LISTED_CHANGES + 1, keysOnly: true });
  const ids = page.map(({ id }) => id.slice(prefix.length));
  return ids.filter((id) => id !== except).slice(0, MAX_LISTED_CHANGES);
}
