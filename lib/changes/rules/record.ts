/** A change's record: its content, and what the log makes of it. */
import { once } from "../../kit/once.ts";
import type { Sha256 } from "../../kit/platform.ts";
import { type Change, changeSchema } from "./change.ts";
import type { TargetOwner } from "./stale_target.ts";
import { type Content, CONTENT_FIELDS, contentDigest } from "./content.ts";
import { listOperands } from "./operands.ts";
import { type TargetKey, isSameTarget } from "./target_key.ts";

/** Everything about a change that its events decide. */
export type Lifecycle = Omit<Change, keyof Content>;

/** Facts of its apply. */
export interface Applied {
  /** Id of the entry. */
  entry: number;
  at: string;
  /** The value of every KPI then. */
  kpis: Record<string, number>;
  /** How the target was spelled when it was first applied, where the change spells it otherwise. */
  target_spelling?: string;
  /** hex SHA-256 of the RFC 8785 JSON of what the target held before; `null`: nothing; absent: unproven. */
  previous_digest?: string | null;
  /** The targets of a plan. */
  sets?: readonly AppliedTarget[];
}

/** The apply of one target of a plan. */
export interface AppliedTarget extends TargetKey, Pick<Applied, "target_spelling" | "previous_digest"> {
  /** Present once it is rolled back while others of the plan are not. */
  rolled_back_at?: string;
}

/** Returns the apply of a change at one of its targets; undefined where it was not applied there. */
export const findApplied = (
  { applied }: Pick<ChangeState, "applied">,
  key: TargetKey,
): Omit<AppliedTarget, keyof TargetKey> | undefined =>
  applied?.sets ? applied.sets.find((one) => isSameTarget(one, key)) : (applied ?? undefined);

/** Lists the operands of a change that are not rolled back. */
export const listAppliedOperands = (record: ChangeRecord): readonly Change[] =>
  listOperands(record.change).filter((operand) => findApplied(record, operand)?.rolled_back_at === undefined);

/** Facts of a rollout that its entries alone decide. */
export interface Rollout {
  /** Shares of its steps, of 10,000. */
  shares: readonly number[];
  /** A person holds it; the id of that entry. */
  by_hand?: number;
  /** The counted users do not match the share; a person must resume it. */
  mismatch?: true;
  /** The rule ordered its rollback; the id of that entry. */
  stopped?: number;
  /** The entry of the last resume out of a mismatch: its totals are the baseline. */
  baseline?: number;
}

/** A change as the log alone tells it. */
export interface ChangeState {
  change: Lifecycle;
  /** Ids of the audit entries about it, oldest first. */
  audit: readonly number[];
  /** `null` before its apply; stays when it is rolled back. */
  applied: Applied | null;
  /** Whose change the target held at the last approval; absent: the log does not say. */
  target_owner?: TargetOwner;
  /** Present for a change that is rolled out in steps. */
  rollout?: Rollout;
}

/** `changes/<change_id>`: the state with the content that it is about. */
export interface ChangeRecord extends ChangeState {
  change: Change;
}

/** The change of a state; `content` where the state does not hold it already. */
export const toChange = (state: ChangeState, content?: Content): Change =>
  Object.assign({ change_id: state.change.change_id }, content, state.change) as Change;

const listLifecycleFields = once(
  () =>
    Object.keys(changeSchema().shape).filter(
      (field) => !(CONTENT_FIELDS as readonly string[]).includes(field),
    ) as (keyof Lifecycle)[],
);

/** The fields in which a stored record is not what the log says; `content` where that is not what the digest was made of. */
export function listDifferences(logged: ChangeState, record: ChangeRecord, sha256: Sha256): string[] {
  const { change, audit, applied, target_owner, rollout } = record;
  const differing: string[] = listLifecycleFields().filter((field) => !isEqual(logged.change[field], change[field]));
  if (!isEqual(logged.audit, audit)) differing.push("audit");
  if (!isEqual(logged.applied, applied)) differing.push("applied");
  if (!isEqual(logged.rollout, rollout)) differing.push("rollout");
  if (!isEqual(logged.target_owner, target_owner)) differing.push("target_owner");
  if (contentDigest(change, sha256) !== (logged.change.erased ?? logged.change).digest) differing.push("content");
  return differing;
}

/** A record that was edited by hand may not even have the shape of one. */
export const isCompleteRecord = (record: Partial<ChangeRecord> | null): boolean =>
  changeSchema().safeParse(record?.change).success && Array.isArray(record?.audit);

const TEXT_FIELDS = ["change_id", "status", "tenant_id", "target", "summary", "created_at"] as const;

/** Returns whether a stored record has the shape of one: somebody may have replaced it. */
export function isRecord<R extends Pick<ChangeRecord, "change" | "audit">>(value: R | null | undefined): value is R {
  const { change, audit } = value ?? {};
  if (typeof change !== "object" || change === null || !Array.isArray(audit)) return false;
  return TEXT_FIELDS.every((field) => typeof change[field] === "string") && Array.isArray(change.approvals);
}

/** Members may stand in another order: what is compared was parsed from two texts. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const members = Object.entries(a);
  return (
    members.length === Object.keys(b).length &&
    members.every(([name, member]) => Object.hasOwn(b, name) && isEqual(member, (b as Record<string, unknown>)[name]))
  );
}
