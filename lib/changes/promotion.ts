/** Promotion rules (`policy.promotion`): a change waits until its value has been in force elsewhere for long enough. */
import { canonicalJson } from "../kit/canonical_json.ts";
import { HOUR_MS } from "../kit/days.ts";
import { listEpisodes } from "./drift.ts";
import type { Reads } from "../store/store.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { type ProductAdapter, ignoreUncovered } from "./operations/adapter_port.ts";
import { readLease } from "./operations/lease.ts";
import { ignoreMissing } from "./mismatch.ts";
import type { Change } from "./rules/change.ts";
import type { Hold } from "./rules/hold.ts";
import type { Intent } from "./rules/intent.ts";
import { NO_KPIS } from "./rules/kpi.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import { makeOutcome, type OutcomeRecord, type OutcomeVerdict } from "./rules/outcome.ts";
import { describePromotion, type PromotionRule, selectPromotionRules } from "./rules/promotion_rule.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { isRollingOut } from "./rules/rollout_state.ts";
import { type TargetKey, isSameTarget } from "./rules/target_key.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `outcomes/<change_id>`: expected and measured KPI movement of an applied change; written by the projection of outcomes. */
    outcomes: OutcomeRecord;
  }
}

/** Sources by which promotions are judged; a transaction has all of them. */
export interface PromotionSources {
  tx: Pick<Reads, "get" | "list">;
  ledger: Ledger;
  product: { intent: Intent; adapter?: ProductAdapter | undefined };
  /** Milliseconds since the epoch. */
  now: number;
}

type ProposedChange = ChangeEntry & Pick<Change, "kind">;

/** Lists the promotion rules that block the apply of a change now, with the reasons. */
export async function listPromotionHolds(sources: PromotionSources, change: Change): Promise<Hold[]> {
  const { intent, adapter } = sources.product;
  if (intent.policy.promotion.length === 0) return [];
  const holds: Hold[] = [];
  for (const listed of listEntries(change)) {
    const entry = { ...listed, kind: change.kind };
    const system = findSystem(adapter, entry);
    for (const rule of selectPromotionRules(intent.policy.promotion, { tenant_id: entry.tenant_id, system })) {
      const problems = await findProblems(sources, entry, rule);
      if (problems.length > 0) holds.push(createHold(entry, rule, problems));
    }
  }
  return holds;
}

function createHold({ target }: ChangeEntry, rule: PromotionRule, problems: readonly string[]): Hold {
  const message = `before ${target} is applied, ${describePromotion(rule)}: ${problems.join("; ")}`;
  return { gate: "promotion", code: "promotion_not_ready", message, details: { target, from: rule.from } };
}

/** Explains for each tenant or system of a rule why the value is not ready there; empty if one of them meets the rule. */
async function findProblems(sources: PromotionSources, entry: ProposedChange, rule: PromotionRule): Promise<string[]> {
  const problems: string[] = [];
  for (const from of rule.from) {
    const targets = listCounterparts(sources.product.adapter, entry, from);
    if (targets.length === 0) problems.push(`${from} has no such target`);
    for (const target of targets) {
      const problem = await findProblem(sources, { entry, target, rule });
      if (problem === undefined) return [];
      problems.push(`${from} ${problem}`);
    }
  }
  return problems;
}

/** Lists the corresponding targets in another tenant or system; `from` is `tenant:<name>` or `system:<name>`. */
function listCounterparts(adapter: ProductAdapter | undefined, entry: ProposedChange, from: string): TargetKey[] {
  const { tenant_id, target } = entry;
  const name = from.slice(from.indexOf(":") + 1);
  if (from.startsWith("tenant:")) return [{ tenant_id: name, target }];
  const targets = ignoreUncovered(() => adapter?.counterparts?.(entry, name)) ?? [];
  return targets.map((counterpart) => ({ tenant_id, target: counterpart }));
}

interface PromotionCheck {
  entry: ProposedChange;
  target: TargetKey;
  rule: PromotionRule;
}

/** Explains why a target does not meet a rule for the value of an entry; undefined if it does. */
async function findProblem(
  { tx, ledger, product, now }: PromotionSources,
  { entry, target, rule }: PromotionCheck,
): Promise<string | undefined> {
  const owner = await ledger.owner(target);
  if (owner === null) return "has nothing applied on it";
  const verified = await ignoreMissing(ledger.change(owner));
  if (!verified || verified.fields.length > 0) return `has ${owner}, whose record does not match the log`;
  const { record } = verified;
  const { change } = record;
  const value = listEntries(change).find((candidate) => isSameTarget(candidate, target))?.value;
  if (change.erased || change.kind !== entry.kind || !isEqual(value, entry.value))
    return `has the value of ${owner}, which is another one`;
  if ((await listEpisodes(tx, owner)).some((episode) => isSameTarget(episode, target)))
    return `does not hold the value of ${owner} now: it was changed outside`;
  if (await readLease(tx, change)) return `has ${owner}, on which an operation is under way`;
  if (isRollingOut(change)) return `has ${owner}, which is still being rolled out`;
  const since = await findInForceSince(ledger, record, target);
  const readyAt = Date.parse(since) + rule.soak_hours * HOUR_MS;
  if (now < readyAt) return `has ${owner} since ${since}, which is long enough at ${new Date(readyAt).toISOString()}`;
  if (rule.verdict_not.length === 0) return undefined;
  const verdict = await readVerdict(tx, owner, { intent: product.intent, now });
  if (verdict === undefined) return `has ${owner}, whose outcome the next cycle evaluates`;
  return rule.verdict_not.includes(verdict) ? `has ${owner}, whose outcome is ${verdict}` : undefined;
}

/** Finds since when a target has held its owner's value without interruption; after a rollout, for all users. */
async function findInForceSince(ledger: Ledger, record: ChangeRecord, target: TargetKey): Promise<string> {
  const { change } = record;
  const entries = await ledger.entries(change.change_id, record);
  const edits = entries.filter(({ event_type }) => EDITS.has(event_type)).map(({ timestamp }) => timestamp);
  const ownedSince = await ledger.ownedSince(target);
  const moments = [change.applied_at!, change.exposure?.since, ownedSince, ...edits];
  return moments
    .filter((moment) => moment !== undefined)
    .toSorted()
    .at(-1)!;
}

/** Entries of a change after which its target holds another value, or the change's value again. */
const EDITS: ReadonlySet<string> = new Set(["change_drifted", "value_restored"]);

const isEqual = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);

/** Reads the verdict on a change as of now; undefined after its horizon, until a cycle has evaluated it. */
async function readVerdict(
  tx: PromotionSources["tx"],
  changeId: string,
  { intent, now }: { intent: Intent; now: number },
): Promise<OutcomeVerdict | undefined> {
  const record = (await tx.get("outcomes", changeId))?.value;
  if (!record) return "too_early";
  if (record.final) return record.final.verdict;
  if (now >= Date.parse(record.judged_from)) return undefined;
  const kpis = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
  // The counts of other outcomes do not affect the verdict.
  return makeOutcome(record, { kpis, intent, counts: {} }, new Date(now).toISOString()).verdict;
}

const findSystem = (adapter: ProductAdapter | undefined, entry: ProposedChange): string | undefined =>
  ignoreUncovered(() => adapter?.locate?.(entry).system);
