/** Projection of daily counts, so that no figure needs a scan; its state is the sum over all time. */
import type { Reads } from "../store/store.ts";
import { DAY_MS, utcDay, countDays, type Window } from "../kit/days.ts";
import { POLICY_GUARDRAIL, POLICY_STAGES, classifyProposer } from "../changes/rules/actor.ts";
import { type AutonomyLevel, classifyAutonomy, type ModelDraft } from "../changes/rules/autonomy_level.ts";
import type { Resolution } from "../changes/rules/change.ts";
import type { OutcomeVerdict } from "../changes/rules/outcome.ts";
import { formatTargetKey } from "../changes/records.ts";
import type { Entry } from "./entries.ts";
import type { Projection, ProjectionContext } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `tally_days/<UTC day>`: the counts of a day. */
    tally_days: Counts;
    /** `tally_drafts/<target key>`: the newest draft of a model on a tenant's target. */
    tally_drafts: ModelDraft;
    /** `tally_attempts/<change_id>`: the day on which an applied change was applied, and whether that counts as failed. */
    tally_attempts: { day: string; failed: boolean };
  }
}

/**
 * Names of counts. `attempts_*` count on the day of the apply, all others on the day of their entry. `level_*`: the autonomy level of
 * a decision, from L1 (a human proposed and decided) to L4 (a standing rule decided) and L5 (drift).
 */
export type Counter =
  | "proposed"
  | `decided_${"approved" | Resolution | "minor"}`
  | `level_${AutonomyLevel | "unattributed"}`
  | "attempts"
  | `attempts_${"failed" | "apply_failed" | "rolled_back" | "drifted"}`
  | `rollbacks_${"person" | "guardrail" | "rollout" | "failed"}`
  | "closed"
  | "expected_items"
  | "present_items"
  | "late_items"
  | `missing_${"rationale" | "decider" | "note" | "verdict"}`
  | `verdict_${OutcomeVerdict}`
  | "drift_episodes"
  | "kpi_feeds";

/** A count that is absent is 0. */
export type Counts = Partial<Record<Counter, number>>;

/** Days whose counts are stored. */
export const MAX_DAYS = 400;

export function sumCounts(all: readonly Counts[]): Counts {
  const total: Counts = {};
  for (const counts of all)
    for (const counter of Object.keys(counts) as Counter[]) total[counter] = (total[counter] ?? 0) + counts[counter]!;
  return total;
}

/** Sums the counts of the days within a window. */
export const sumWindow = (days: ReadonlyMap<string, Counts>, { from, to }: Window): Counts =>
  sumCounts([...days].filter(([day]) => day >= from && day <= to).map(([, counts]) => counts));

/** Collections of daily counts, each written by one projection. */
export type DayCollection = "tally_days" | "closing_days";

/** Lists the counts of a window by day; a day without any is absent. */
export async function listDays(
  reads: Reads,
  collection: DayCollection,
  window: Window,
): Promise<[day: string, counts: Counts][]> {
  const after = utcDay(Date.parse(window.from) - DAY_MS);
  const page = await reads.list(collection, { after, limit: countDays(window) });
  return page.filter(({ id }) => id <= window.to).map(({ id, value }) => [id, value]);
}

/** Adds counts to a day and to the total; a new day removes the oldest. */
export async function addCounts(
  context: ProjectionContext<{ total: Counts }>,
  collection: DayCollection,
  at: string,
  added: Counts,
): Promise<void> {
  const { tx } = context;
  const day = at.slice(0, 10);
  const stored = await tx.get(collection, day);
  tx.put(collection, day, sumCounts([stored?.value ?? {}, added]));
  context.state = { ...context.state, total: sumCounts([context.state.total, added]) };
  if (stored) return;
  const firstDay = utcDay(Date.parse(day) - MAX_DAYS * DAY_MS);
  // Up to three days: more than one may have become too old while nothing was counted.
  for (const { id } of await tx.list(collection, { limit: 3, keysOnly: true }))
    if (id < firstDay) tx.delete(collection, id);
}

interface State {
  total: Counts;
}

export const counts: Projection<State> = {
  name: "tally",
  collections: ["tally_days", "tally_drafts", "tally_attempts"],
  start: { total: {} },
  async apply(context, entry) {
    const count = (added: Counts): Promise<void> => addCounts(context, "tally_days", entry.timestamp, added);
    // A late result belongs to an attempt that was counted when it failed.
    const isLate = entry.facts.late === true;
    switch (entry.event_type) {
      case "change_proposed":
        storeDraft(context, entry);
        return count({ proposed: 1, ...(entry.facts.status === "approved" && { decided_minor: 1, level_L4: 1 }) });
      case "consent_decision":
        // A decision that leaves the status, such as an approval below the quorum, is not counted.
        return entry.facts.status === (entry.facts.from ?? "pending_consent")
          ? undefined
          : count(await countDecision(context, entry));
      case "change_applied":
        context.tx.put("tally_attempts", entry.change_id, { day: entry.timestamp.slice(0, 10), failed: isLate });
        return isLate ? undefined : count({ attempts: 1 });
      case "change_apply_failed":
        return isLate ? undefined : count({ attempts: 1, attempts_failed: 1, attempts_apply_failed: 1 });
      case "change_rolled_back":
        await countFailedAttempt(context, entry, "rolled_back");
        if (entry.facts.by === POLICY_GUARDRAIL) return count({ rollbacks_guardrail: 1, level_L4: 1 });
        if (entry.facts.by === POLICY_STAGES) return count({ rollbacks_rollout: 1, level_L4: 1 });
        return count({ rollbacks_person: 1 });
      case "change_rollback_failed":
        return isLate ? undefined : count({ rollbacks_failed: 1 });
      case "change_drifted":
        await countFailedAttempt(context, entry, "drifted");
        return count({ drift_episodes: 1, level_L5: 1 });
      case "kpi_refreshed":
        return count({ kpi_feeds: 1 });
    }
  },
};

function storeDraft({ tx }: ProjectionContext<State>, { change_id, tenant, timestamp, facts }: Entry): void {
  if (facts.status === "approved" || classifyProposer(facts.proposer ?? null) !== "model") return;
  tx.put("tally_drafts", formatTargetKey({ target: facts.target ?? "", tenant_id: tenant }), {
    change_id,
    at: timestamp,
  });
}

async function countDecision(context: ProjectionContext<State>, { change_id, facts }: Entry): Promise<Counts> {
  const change = await context.readChange(change_id);
  const draft = (await context.tx.get("tally_drafts", formatTargetKey(change)))?.value;
  const { principals } = await context.readIntent(facts.manifest_hash ?? null);
  const { approver = null, authenticated } = facts;
  // A revoked approval was counted already, so the revocation has no level of its own.
  if (facts.decision === "revoked") return { decided_revoked: 1 };
  const level = classifyAutonomy(
    change,
    { approver, authenticated, namesPrincipals: Object.keys(principals).length > 0 },
    draft,
  );
  return { [`decided_${facts.decision}`]: 1, ...(level && { [`level_${level}`]: 1 }) };
}

/**
 * Counts the cause for which a successful apply failed after all, on the day of the apply: `attempts_<cause>`, and
 * `attempts_failed` at the first cause. Of several drifts the first counts; a rollback is the last cause, and removes the row.
 */
async function countFailedAttempt(
  context: ProjectionContext<State>,
  { change_id }: Entry,
  cause: "rolled_back" | "drifted",
): Promise<void> {
  const attempt = (await context.tx.get("tally_attempts", change_id))?.value;
  if (!attempt) return;
  const { day, failed } = attempt;
  if (cause === "rolled_back") context.tx.delete("tally_attempts", change_id);
  else if (failed) return;
  else context.tx.put("tally_attempts", change_id, { day, failed: true });
  await addCounts(context, "tally_days", day, { [`attempts_${cause}`]: 1, ...(failed ? {} : { attempts_failed: 1 }) });
}
