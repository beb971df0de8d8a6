/** Guardrails: react when a feed shows a KPI worse than at the newest apply that they watch. */
import { type GuardrailEvidence, checkGuardrail } from "./rules/guardrail.ts";
import type { ChangeRecord } from "./rules/record.ts";
import type { Transaction } from "./transaction.ts";
import { entryKey } from "../audit/chain.ts";
import { AppError } from "../kit/errors.ts";
import { parseDetail } from "./rules/event.ts";
import type { Guardrail } from "./rules/intent.ts";
import { isRollingOut } from "./rules/rollout_state.ts";
import { isGuardrailReplaced } from "./rules/stages_rule.ts";
import { matchesAny } from "./rules/target_pattern.ts";
import { ignoreMismatch } from "./mismatch.ts";
import { listRecords } from "../store/pages.ts";

declare module "../store/store.ts" {
  interface Collections {
    guardrail_due: DueRollback;
    /** `guardrail_marks/<change_id>`: the last trip of a guardrail by a change. */
    guardrail_marks: GuardrailEvidence;
    kpi_applied: WatchedChange;
  }
}

const HOUR_MS = 3600 * 1000;
const PAGE_SIZE = 20;
/** Stands for any KPI in a key: a guardrail by target watches changes regardless of the KPI that they name. */
const EVERY_KPI = "*";

/** `kpi_applied/<kpi>\n<applied entry>`: an applied, reversible change, under its KPI and under `*`. */
interface WatchedChange {
  change_id: string;
  target: string;
  /** Targets that a plan sets. */
  sets?: readonly string[];
  /** Time of the apply, in milliseconds since the epoch. */
  at: number;
}

/** `guardrail_due/<change_id>`: a rollback that the intent orders, and how often it has failed. */
export type DueRollback = GuardrailEvidence & { tries?: number };

/** A guardrail that a feed tripped, as recorded in the entry of the feed, whose time and id are not repeated. */
export type GuardrailTrip = Omit<GuardrailEvidence, "at" | "entry"> & { change_id: string };

/** Stores an applied change for the guardrails that may watch it. */
export function watchChange({ tx, now }: Transaction, { change, applied }: ChangeRecord): void {
  const { kpi, reversible, change_id, target, sets } = change;
  if (!reversible) return;
  const watched = { change_id, target, ...(sets && { sets: sets.map((entry) => entry.target) }), at: now };
  for (const key of kpi === null ? [EVERY_KPI] : [kpi, EVERY_KPI])
    // `presumed new`: a shared store need not read the row first.
    tx.put("kpi_applied", `${key}\n${entryKey(applied!.entry)}`, watched, "presumed new");
}

/** Finds guardrails that a feed trips, queues the rollbacks that the intent orders, and returns the trips that are new. */
export async function judgeGuardrails(transaction: Transaction, fed: Record<string, number>): Promise<GuardrailTrip[]> {
  const { intent } = transaction.product;
  const tripped: GuardrailTrip[] = [];
  for (const guardrail of intent.policy.guardrails) {
    const value = fed[guardrail.kpi];
    const watched = value === undefined ? undefined : await findNewestWatched(transaction, guardrail);
    const baseline = watched?.applied?.kpis[guardrail.kpi];
    if (!watched || value === undefined || baseline === undefined) continue;
    const evidence = checkGuardrail(guardrail, baseline, value, intent, transaction.at);
    const { change_id } = watched.change;
    // During a rollout, the comparison with the control group replaces the comparison with the value at the apply.
    if (isRollingOut(watched.change) && isGuardrailReplaced(watched.change, guardrail.kpi, intent.policy.stages))
      continue;
    if (!evidence || !(await storeTrip(transaction, change_id, { ...evidence, entry: transaction.nextEntryId() })))
      continue;
    const { at: _, ...trip } = evidence;
    tripped.push({ change_id, ...trip });
  }
  return tripped;
}

/** Finds the newest change that a guardrail watches and that is still applied. */
async function findNewestWatched(
  { tx, now, change }: Transaction,
  { kpi, targets, hours }: Guardrail,
): Promise<ChangeRecord | undefined> {
  const prefix = `${targets ? EVERY_KPI : kpi}\n`;
  for await (const { value } of listRecords(tx, "kpi_applied", { prefix, limit: PAGE_SIZE, reverse: true })) {
    if (now - value.at > hours * HOUR_MS) return undefined;
    if (targets && ![value.target, ...(value.sets ?? [])].some((target) => matchesAny(target, targets))) continue;
    const record = await ignoreMismatch(change(value.change_id));
    if (record?.change.status === "applied") return record;
  }
  return undefined;
}

/**
 * Stores a trip and returns true if it is new: a stored trip that the log does not record does not count. After an alert, a
 * rollback is new; after a rollback, nothing is.
 */
async function storeTrip(transaction: Transaction, changeId: string, evidence: GuardrailEvidence): Promise<boolean> {
  const { tx } = transaction;
  const stored = (await tx.get("guardrail_marks", changeId))?.value;
  const loggedAction = stored && (await isTripLogged(transaction, changeId, stored)) ? stored.action : undefined;
  if (loggedAction === "rollback" || loggedAction === evidence.action) return false;
  tx.put("guardrail_marks", changeId, evidence);
  if (evidence.action === "rollback") tx.put("guardrail_due", changeId, evidence);
  return true;
}

/** Returns true if the entry of the feed records a stored trip, with the same numbers. */
export async function isTripLogged(
  { evidence }: Pick<Transaction, "evidence">,
  changeId: string,
  { entry, ...stored }: GuardrailEvidence,
): Promise<boolean> {
  const feed = await evidence.entry(entry);
  if (feed?.event_type !== "kpi_refreshed") return false;
  const tripped = parseDetail(feed.detail).tripped?.find(({ change_id }) => change_id === changeId);
  const expected: Record<string, unknown> = { ...tripped, at: feed.timestamp };
  return tripped !== undefined && Object.entries(stored).every(([name, member]) => expected[name] === member);
}

/** Requires that the log records the guardrail trip behind a rollback. Errors: 409 `evidence_mismatch`. */
export async function requireRecordedTrip(
  transaction: Pick<Transaction, "evidence">,
  changeId: string,
  evidence: GuardrailEvidence,
): Promise<void> {
  if (await isTripLogged(transaction, changeId, evidence)) return;
  throw new AppError(
    "evidence_mismatch",
    `the audit log has no guardrail trip of ${changeId}, so the guardrail does not roll it back`,
    { change_id: changeId, fields: ["guardrail"] },
  );
}
