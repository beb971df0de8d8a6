/**
 * Daily buckets of what happened, so that no figure needs a scan: `tally_days/<UTC day>`, and the sum over all time in the
 * follower's state.
 */
import type { Reads } from "../store/store.ts";
import { DAY_MS, dayOf, lengthOf, type Window } from "../kit/days.ts";
import { POLICY_GUARDRAIL, proposerKindOf } from "../changes/rules/actor.ts";
import { type Level, levelOf, type ModelDraft } from "../changes/rules/autonomy_level.ts";
import type { Resolution } from "../changes/rules/change.ts";
import type { Verdict } from "../changes/rules/outcome.ts";
import { targetKey } from "../changes/records.ts";
import type { Entry } from "./entries.ts";
import type { Follower, Following } from "./follower.ts";

declare module "../store/store.ts" {
  interface Collections {
    tally_days: Tally;
    /** `tally_drafts/<place>`: the newest draft of a model on a tenant's target. */
    tally_drafts: ModelDraft;
    /** `tally_attempts/<change_id>`: the day on which an applied change was applied, and whether that counts as failed. */
    tally_attempts: { day: string; failed: boolean };
  }
}

/** What is counted; `attempts_*` on the day of the apply, everything else on its own day. */
export type Counter =
  | "proposed"
  | `decided_${"approved" | Resolution | "minor"}`
  | `level_${Level | "unattributed"}`
  | "attempts"
  | `attempts_${"failed" | "apply_failed" | "rolled_back" | "drifted"}`
  | `rollbacks_${"person" | "guardrail" | "failed"}`
  | "closed"
  | "expected_items"
  | "present_items"
  | "late_items"
  | `missing_${"rationale" | "decider" | "note" | "verdict"}`
  | `verdict_${Verdict}`
  | "drift_episodes"
  | "kpi_feeds";

/** A count that is absent is 0. */
export type Tally = Partial<Record<Counter, number>>;

/** How many daily buckets are kept. */
export const DAYS_KEPT = 400;

/** The counts of several tallies together. */
export function sum(tallies: readonly Tally[]): Tally {
  const all: Tally = {};
  for (const tally of tallies)
    for (const counter of Object.keys(tally) as Counter[]) all[counter] = (all[counter] ?? 0) + tally[counter]!;
  return all;
}

/** What happened within a window, out of its buckets or those of a longer one. */
export const sumWithin = (days: ReadonlyMap<string, Tally>, { from, to }: Window): Tally =>
  sum([...days].filter(([day]) => day >= from && day <= to).map(([, tally]) => tally));

/** The collections of daily buckets, each one follower's. */
export type Buckets = "tally_days" | "closing_days";

/** The buckets of a window, by day; a day on which nothing happened has none. */
export async function bucketsOf(reads: Reads, buckets: Buckets, window: Window): Promise<[string, Tally][]> {
  const after = dayOf(Date.parse(window.from) - DAY_MS);
  const page = await reads.list(buckets, { after, limit: lengthOf(window) });
  return page.filter(({ id }) => id <= window.to).map(({ id, value }) => [id, value]);
}

/** Counts something on a day, and all together; a new day pushes out those that are no longer kept. */
export async function bump(on: Following<{ total: Tally }>, buckets: Buckets, at: string, by: Tally): Promise<void> {
  const { tx } = on;
  const day = at.slice(0, 10);
  const known = await tx.get(buckets, day);
  tx.put(buckets, day, sum([known?.value ?? {}, by]));
  on.state = { ...on.state, total: sum([on.state.total, by]) };
  if (known) return;
  const oldestKept = dayOf(Date.parse(day) - DAYS_KEPT * DAY_MS);
  for (const { id } of await tx.list(buckets, { limit: 3, keysOnly: true }))
    if (id < oldestKept) tx.delete(buckets, id);
}

interface State {
  total: Tally;
}

export const tally: Follower<State> = {
  name: "tally",
  collections: ["tally_days", "tally_drafts", "tally_attempts"],
  start: { total: {} },
  async follow(on, entry) {
    const count = (by: Tally): Promise<void> => bump(on, "tally_days", entry.timestamp, by);
    // Such an attempt was counted when it failed.
    const isLate = entry.facts.late === true;
    switch (entry.event_type) {
      case "change_proposed":
        keepDraft(on, entry);
        return count({ proposed: 1, ...(entry.facts.status === "approved" && { decided_minor: 1, level_L4: 1 }) });
      case "consent_decision":
        return entry.facts.status === (entry.facts.from ?? "pending_consent")
          ? undefined
          : count(await decision(on, entry));
      case "change_applied":
        on.tx.put("tally_attempts", entry.change_id, { day: entry.timestamp.slice(0, 10), failed: isLate });
        return isLate ? undefined : count({ attempts: 1 });
      case "change_apply_failed":
        return isLate ? undefined : count({ attempts: 1, attempts_failed: 1, attempts_apply_failed: 1 });
      case "change_rolled_back":
        await attemptFailed(on, entry, "rolled_back");
        return count(
          entry.facts.by === POLICY_GUARDRAIL ? { rollbacks_guardrail: 1, level_L4: 1 } : { rollbacks_person: 1 },
        );
      case "change_rollback_failed":
        return isLate ? undefined : count({ rollbacks_failed: 1 });
      case "change_drifted":
        await attemptFailed(on, entry, "drifted");
        return count({ drift_episodes: 1, level_L5: 1 });
      case "kpi_refreshed":
        return count({ kpi_feeds: 1 });
    }
  },
};

function keepDraft({ tx }: Following<State>, { change_id, tenant, timestamp, facts }: Entry): void {
  if (facts.status === "approved" || proposerKindOf(facts.proposer ?? null) !== "model") return;
  tx.put("tally_drafts", targetKey({ target: facts.target ?? "", tenant_id: tenant }), { change_id, at: timestamp });
}

async function decision(on: Following<State>, { change_id, facts }: Entry): Promise<Tally> {
  const change = await on.change(change_id);
  const draft = (await on.tx.get("tally_drafts", targetKey(change)))?.value;
  const { principals } = await on.intentOf(facts.manifest_hash ?? null);
  const { approver = null, authenticated } = facts;
  // The approval that a revocation takes back was counted; the revocation is no second decision.
  if (facts.decision === "revoked") return { decided_revoked: 1 };
  const level = levelOf(change, { approver, authenticated, principals: Object.keys(principals).length > 0 }, draft);
  return { [`decided_${facts.decision}`]: 1, ...(level && { [`level_${level}`]: 1 }) };
}

/** An attempt that had succeeded turns out to have failed; it counts once, on the day of its apply. */
async function attemptFailed(
  on: Following<State>,
  { change_id }: Entry,
  cause: "rolled_back" | "drifted",
): Promise<void> {
  const attempt = (await on.tx.get("tally_attempts", change_id))?.value;
  if (!attempt) return;
  const { day, failed } = attempt;
  if (cause === "rolled_back") on.tx.delete("tally_attempts", change_id);
  else if (failed) return;
  else on.tx.put("tally_attempts", change_id, { day, failed: true });
  await bump(on, "tally_days", day, { [`attempts_${cause}`]: 1, ...(failed ? {} : { attempts_failed: 1 }) });
}
