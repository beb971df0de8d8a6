/** Counts everything anew from the audit log and the records, so that the daily buckets can be held against them. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { GovernanceDeps } from "../governance/deps.ts";
import { targetKey } from "../governance/records.ts";
import type { Store } from "../store/store.ts";
import { lastDays } from "../kit/days.ts";
import { DAYS_KEPT, sum, type Tally, totalTally } from "./tally.ts";
import { isModels, levelOf, type ModelDraft } from "../governance/rules/autonomy_level.ts";
import { closingTally } from "./record_keeping.ts";
import { POLICY_GUARDRAIL } from "./tally_steps.ts";

const SLICE = 500;

/** Tallies by day, as `tally_days` holds them. */
export type Recount = Map<string, Tally>;

/** Where a recount ends: the newest entry and the moment that it takes in. */
interface Until {
  length: number;
  at: string;
}

/** Whether the buckets are what the records say; `mismatches` names the counters, day by day. */
export async function compareTallies(deps: GovernanceDeps): Promise<{ tallies_match: boolean; mismatches: string[] }> {
  const { store } = deps;
  const kept = await store.transact(async (tx) => {
    const days = await tx.list("tally_days", { limit: 2 * DAYS_KEPT });
    const until = { length: (await readHead(tx))?.length ?? 0, at: new Date(deps.clock.now()).toISOString() };
    return { days, total: await totalTally(tx), until };
  });
  const recount = await recountUntil(store, kept.until);
  const { from } = lastDays(deps.clock.now(), DAYS_KEPT - 1);
  const comparable = kept.days.filter(({ id }) => id >= from);
  const mismatches = comparable.flatMap(({ id, value }) => differences(id, value, recount.get(id) ?? {}));
  mismatches.push(...differences("total", kept.total, sum([...recount.values()])));
  return { tallies_match: mismatches.length === 0, mismatches: mismatches.slice(0, 100) };
}

function differences(name: string, kept: Tally, counted: Tally): string[] {
  const counters = new Set([...Object.keys(kept), ...Object.keys(counted)]) as Set<keyof Tally>;
  return [...counters]
    .filter((counter) => (kept[counter] ?? 0) !== (counted[counter] ?? 0))
    .map((counter) => `${name} ${counter}: kept ${kept[counter] ?? 0}, counted ${counted[counter] ?? 0}`);
}

/** Folds the log up to an entry, in slices, and adds the outcomes that time closed. Memory grows with failures only. */
export async function recountUntil(store: Store, until: Until): Promise<Recount> {
  const days: Recount = new Map();
  const add = (at: string, by: Tally): void => {
    const day = at.slice(0, 10);
    days.set(day, sum([days.get(day) ?? {}, by]));
  };
  const drafts = new Map<string, ModelDraft>();
  const failedAttempts = new Set<string>();
  for (let after = 0; after < until.length;) {
    const slice = await store.list("audit", { after: entryKey(after), limit: SLICE });
    for (const { value: entry } of slice)
      if (entry.id <= until.length) await recountEntry(store, entry, { add, drafts, failedAttempts });
    after = slice.at(-1)?.value.id ?? until.length;
    await new Promise((resolve) => setTimeout(resolve));
  }
  await recountClosings(store, until, add);
  return days;
}

interface Fold {
  add(at: string, by: Tally): void;
  drafts: Map<string, ModelDraft>;
  failedAttempts: Set<string>;
}

async function recountEntry(store: Store, entry: AuditEntry, { add, drafts, failedAttempts }: Fold): Promise<void> {
  const { event_type, timestamp } = entry;
  if (event_type === "kpi_refreshed") return add(timestamp, { kpi_feeds: 1 });
  const facts = JSON.parse(entry.detail) as { status?: string; decision?: string; approver?: string; by?: string };
  const { change } = (await store.get("changes", entry.change_id))!.value;

  const attemptFailed = (cause: "rolled_back" | "drifted"): void => {
    const known = failedAttempts.has(change.change_id);
    if (known && cause === "drifted") return;
    failedAttempts.add(change.change_id);
    add(change.applied_at!, { [`attempts_${cause}`]: 1, ...(known ? {} : { attempts_failed: 1 }) });
  };
  switch (event_type) {
    case "change_proposed":
      if (facts.status === "approved") add(timestamp, { decided_minor: 1, level_L4: 1 });
      else if (isModels(change)) drafts.set(targetKey(change), { change_id: change.change_id, at: change.created_at });
      return;
    case "consent_decision": {
      if (facts.status === "pending_consent") return;
      const level = levelOf({ ...change, approver: facts.approver ?? null }, drafts.get(targetKey(change)));
      add(timestamp, { [`decided_${facts.decision}`]: 1, [`level_${level}`]: 1 });
      if (facts.status === "denied") add(timestamp, closingTally(change, null));
      return;
    }
    case "change_applied":
      return add(timestamp, { attempts: 1 });
    case "change_apply_failed":
      return add(timestamp, { attempts: 1, attempts_failed: 1, attempts_apply_failed: 1 });
    case "change_rolled_back": {
      attemptFailed("rolled_back");
      add(timestamp, facts.by === POLICY_GUARDRAIL ? { rollbacks_guardrail: 1, level_L4: 1 } : { rollbacks_person: 1 });
      const outcome = (await store.get("outcomes", change.change_id))!.value.final;
      return add(timestamp, closingTally(change, outcome));
    }
    case "change_rollback_failed":
      return add(timestamp, { rollbacks_failed: 1 });
    case "change_drifted":
      add(timestamp, { drift_episodes: 1, level_L5: 1 });
      return attemptFailed("drifted");
  }
}

async function recountClosings(store: Store, until: Until, add: Fold["add"]): Promise<void> {
  for (let after = ""; ;) {
    const page = await store.list("outcomes", { after, limit: SLICE });
    for (const { id, value } of page)
      if (value.final?.closed_by === "time" && value.final.as_of <= until.at) {
        const { change } = (await store.get("changes", id))!.value;
        add(value.final.as_of, closingTally(change, value.final));
      }
    if (page.length < SLICE) return;
    after = page.at(-1)!.id;
    await new Promise((resolve) => setTimeout(resolve));
  }
}
