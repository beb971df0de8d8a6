/** Outcomes whose 30 days are over: frozen, counted and reported, oldest first. */
import { rememberVerdict } from "../memory/remember_steps.ts";
import type { PulseDeps } from "./deps.ts";
import { NO_KPIS } from "../governance/rules/kpi.ts";
import { closeOutcome, isOver, type OutcomeRecord } from "../governance/rules/outcome.ts";
import type { Tx } from "../store/store.ts";
import { closed, closingKey } from "../follow/tally_steps.ts";

const BATCH = 20;

/** Freezes at most `limit` outcomes whose time is over, and returns how many. */
export async function closeDueOutcomes(deps: PulseDeps, limit = 200): Promise<number> {
  let done = 0;
  while (done < limit) {
    const [oldest] = await deps.store.list("closings", { limit: 1 });
    if (!oldest || !isOver(await outcomeIn(deps.store, oldest.value), deps.clock.now())) break;
    const frozen = await deps.store.transact((tx) => closeBatch(tx, deps));
    if (frozen === 0) break;
    done += frozen;
  }
  return done;
}

async function closeBatch(tx: Tx, { clock, product }: PulseDeps): Promise<number> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  const kpis = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
  let frozen = 0;
  for (const { value: changeId } of await tx.list("closings", { limit: BATCH })) {
    const outcome = await outcomeIn(tx, changeId);
    if (!isOver(outcome, now)) break;
    const { change } = (await tx.get("changes", changeId))!.value;
    const final = closeOutcome(outcome, "time", kpis, product!.intent, at);
    tx.put("outcomes", changeId, final);
    await rememberVerdict(tx, changeId);
    tx.delete("outcomes_open", changeId);
    tx.delete("closings", closingKey(change));
    await closed(tx, change, final.final, at);
    frozen++;
  }
  return frozen;
}

const outcomeIn = async (reader: Pick<Tx, "get">, changeId: string): Promise<OutcomeRecord> =>
  (await reader.get("outcomes", changeId))!.value;
