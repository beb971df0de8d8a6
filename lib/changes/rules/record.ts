/** The stored record of a change: its content, and the state that its entries lead to. */
import { once } from "../../kit/once.ts";
import type { Sha256 } from "../../kit/platform.ts";
import { type Change, changeSchema } from "./change.ts";
import type { ChangeInForce } from "./stale_target.ts";
import { type Content, CONTENT_FIELDS, contentDigest } from "./content.ts";
import { listOperands } from "./operands.ts";
import { type TargetKey, isSameTarget } from "./target_key.ts";

/** The fields of a change that its events determine. */
export type Lifecycle = Omit<Change, keyof Content>;

/** Facts of the apply of a change. */
export interface ApplyRecord {
  /** Id of the entry. */
  entry: number;
  at: string;
  /** The value of every KPI then. */
  kpis: Record<string, number>;
  /** Spelling of the target at its first apply, if the change spells it differently. */
  target_spelling?: string;
  /** SHA-256 (hex) of the RFC 8785 JSON of the replaced value; `null`: there was none; absent: unknown. */
  previous_digest?: string | null;
  /** The targets of a plan. */
  sets?: readonly AppliedTarget[];
}

/** The apply of one target of a plan. */
export interface AppliedTarget extends TargetKey, Pick<ApplyRecord, "target_spelling" | "previous_digest"> {
  /** Present if this target is rolled back and others of the plan are not. */
  rolled_back_at?: string;
}

/** Returns the apply of a change on one of its targets; undefined if it was not applied there. Only a plan has several targets. */
export const findApplied = (
  { applied }: Pick<ChangeState, "applied">,
  key: TargetKey,
): Omit<AppliedTarget, keyof TargetKey> | undefined =>
  applied?.sets ? applied.sets.find((target) => isSameTarget(target, key)) : (applied ?? undefined);

/** Lists the operands of an applied change: all, for a plan without those that were rolled back alone. */
export const listAppliedOperands = (record: ChangeRecord): readonly Change[] =>
  listOperands(record.change).filter((operand) => findApplied(record, operand)?.rolled_back_at === undefined);

/** Facts of a rollout that its entries alone decide. */
export interface Rollout {
  /** Shares of its steps, of 10,000. */
  shares: readonly number[];
  /** The entry by which a person holds it. */
  by_hand?: number;
  /** The counted users do not match the share; a person must resume it. */
  mismatch?: true;
  /** The entry by which its rule ordered the rollback. */
  stopped?: number;
  /** The entry of the last resume after a mismatch: its totals are the baseline. */
  baseline?: number;
}

/** The state of a change, from its entries alone. */
export interface ChangeState {
  change: Lifecycle;
  /** Ids of the audit entries about it, oldest first. */
  audit: readonly number[];
  /** `null` before the apply; kept after a rollback. */
  applied: ApplyRecord | null;
  /** The change, not a person, that was in force on the target at the last approval; absent: the log does not record it. */
  target_owner?: ChangeInForce;
  /** Present for a change that is rolled out in steps. */
  rollout?: Rollout;
}

/** `changes/<change_id>`: the state with the content of the change. */
export interface ChangeRecord extends ChangeState {
  change: Change;
}

/** Returns the change of a state; `content`: needed if the state does not include it. */
export const toChange = (state: ChangeState, content?: Content): Change =>
  Object.assign({ change_id: state.change.change_id }, content, state.change) as Change;

const listLifecycleFields = once(
  () =>
    Object.keys(changeSchema().shape).filter(
      (field) => !(CONTENT_FIELDS as readonly string[]).includes(field),
    ) as (keyof Lifecycle)[],
);

/** Lists the fields in which a stored record differs from the log, and `content` if the digest of its content does not match. */
export function listDifferences(logged: ChangeState, record: ChangeRecord, sha256: Sha256): string[] {
  const { change, audit, applied, target_owner, rollout } = record;
  const differing: string[] = listLifecycleFields().filter((field) => !isEqual(logged.change[field], change[field]));
  if (!isEqual(logged.audit, audit)) differing.push("audit");
  if (!isEqual(logged.applied, applied)) differing.push("applied");
  if (!isEqual(logged.rollout, rollout)) differing.push("rollout");
  if (!isEqual(logged.target_owner, target_owner)) differing.push("target_owner");
  // After an erasure, the remaining content has a digest of its own.
  if (contentDigest(change, sha256) !== (logged.change.erased ?? logged.change).digest) differing.push("content");
  return differing;
}

/** Returns true if a stored record, which may have been edited by hand, matches the schema. */
export const isCompleteRecord = (record: Partial<ChangeRecord> | null): boolean =>
  changeSchema().safeParse(record?.change).success && Array.isArray(record?.audit);

const TEXT_FIELDS = ["change_id", "status", "tenant_id", "target", "summary", "created_at"] as const;

/** Returns true if a stored value, which may have been edited by hand, has the main fields of a record. */
export function isRecord<R extends Pick<ChangeRecord, "change" | "audit">>(value: R | null | undefined): value is R {
  const { change, audit } = value ?? {};
  if (typeof change !== "object" || change === null || !Array.isArray(audit)) return false;
  return TEXT_FIELDS.every((field) => typeof change[field] === "string") && Array.isArray(change.approvals);
}

/** Compares JSON values; the order of members does not matter. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const members = Object.entries(a);
  return (
    members.length === Object.keys(b).length &&
    members.every(([name, member]) => Object.hasOwn(b, name) && isEqual(member, (b as Record<string, unknown>)[name]))
  );
}
