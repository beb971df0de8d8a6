/** Notices what the feeds made of open outcomes: the first verdict, and each change of it, becomes a growth row. */
import type { PulseDeps } from "./deps.ts";
import { type KpiState, NO_KPIS } from "../governance/rules/kpi.ts";
import { type Outcome, outcomeOf, type Verdict } from "../governance/rules/outcome.ts";
import type { Stored } from "../store/store.ts";
import { addGrowth } from "../follow/growth_log.ts";
import { movementOf } from "../follow/tally_steps.ts";

declare module "../store/store.ts" {
  interface Meta {
    verdicts: Round;
  }
}

const BATCH = 200;

/** `meta/verdicts`: how far the round over open outcomes is, and the audit entry of the feed it is about. */
interface Round {
  feed: number;
  /** The open outcome that was looked at last; `null` when the round is complete. */
  cursor: string | null;
}

/** Looks at up to `batches` × 200 open outcomes after a new feed, and returns how many verdicts were new. */
export async function noticeVerdicts(deps: PulseDeps, batches = 10): Promise<number> {
  const { store } = deps;
  let noticed = 0;
  for (let batch = 0; batch < batches; batch++) {
    const kpis = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
    const round = (await store.get("meta", "verdicts"))?.value;
    const same = round?.feed === newestFeed(kpis);
    if (newestFeed(kpis) === 0 || (same && round?.cursor === null)) return noticed;
    const open = await store.list("outcomes_open", { after: (same && round?.cursor) || "", limit: BATCH });
    noticed += await judge(deps, kpis, open);
  }
  return noticed;
}

async function judge(deps: PulseDeps, kpis: KpiState, open: readonly Stored[]): Promise<number> {
  const { store, clock, product } = deps;
  const at = new Date(clock.now()).toISOString();
  const records = await Promise.all(open.map(({ id }) => store.get("outcomes", id)));
  const judged = records
    .flatMap((record) =>
      record && record.value.kpi !== null ? [outcomeOf(record.value, kpis, product!.intent, at)] : [],
    )
    .filter(({ verdict }) => verdict !== "inconclusive");
  return store.transact(async (tx) => {
    let noticed = 0;
    for (const outcome of judged) {
      const known = (await tx.get("verdicts", outcome.change_id))?.value;
      const stillOpen = (await tx.get("outcomes_open", outcome.change_id)) !== undefined;
      if (known === outcome.verdict || !stillOpen) continue;
      tx.put("verdicts", outcome.change_id, outcome.verdict);
      await addGrowth(tx, {
        at,
        kind: "outcome",
        title: titleOf(outcome, known),
        detail: movementOf(outcome),
        ref: outcome.change_id,
      });
      noticed++;
    }
    const cursor = open.length === BATCH ? open.at(-1)!.id : null;
    tx.put("meta", "verdicts", { feed: newestFeed(kpis), cursor });
    return noticed;
  });
}

const newestFeed = ({ values }: KpiState): number => Math.max(0, ...Object.values(values).map(({ entry }) => entry));

const titleOf = ({ change_id, verdict }: Outcome, known: Verdict | undefined): string =>
  known
    ? `The outcome of ${change_id} went from ${known} to ${verdict}`
    : `The first verdict on ${change_id} is ${verdict}`;
