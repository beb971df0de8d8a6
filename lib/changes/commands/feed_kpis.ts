/** Records values of KPIs. */
import { findActor, type Caller, requirePerson } from "../caller.ts";
import { judgeGuardrails } from "../guardrail.ts";
import type { Receipt, Replayed } from "../replies.ts";
import { effectOf } from "../rules/effect.ts";
import { feed, NO_KPIS } from "../rules/kpi.ts";
import { governed } from "../transaction.ts";

/** Values of KPIs and their source. */
export interface KpiFeed {
  values: Record<string, number>;
  actor?: string | undefined;
  note?: string | undefined;
}

/** Recorded values; `refreshed`: one of them counts in the effect E. */
export interface KpiResult extends Receipt {
  refreshed: boolean;
  E: number | null;
  accepted: Record<string, number>;
  at: string;
}

/** Records KPIs in one entry, and requests a cycle without waiting for it. */
export async function feedKpis(caller: Caller, { values: fed, actor, note }: KpiFeed): Promise<KpiResult | Replayed> {
  const { deps, identity } = caller;
  const result = await governed(caller, async (transaction) => {
    // A program that no proxy names may state a name.
    requirePerson(
      { deps, identity: identity && { ...identity, person: identity.person || undefined } },
      "actor",
      actor,
    );
    const { tx, at, product, append } = transaction;
    const before = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
    const after = feed(before, fed, at, transaction.nextEntryId());
    const { value: E, parts } = effectOf(after, product.intent, Date.parse(at));
    const refreshed = parts.some(({ kpi, attainment }) => Object.hasOwn(fed, kpi) && attainment !== null);
    tx.put("kpi", "latest", after);
    const tripped = await judgeGuardrails(transaction, fed);
    const { manifest_hash } = product;
    const facts = {
      ...(tripped.length > 0 ? { tripped } : {}),
      manifest_hash,
      ...findActor(caller, actor),
      ...(note && { note }),
    };
    const entry = append({ event_type: "kpi_refreshed", detail: { values: fed, E, refreshed, ...facts } });
    return { refreshed, E, accepted: fed, at, entry };
  });
  deps.wake?.();
  return result;
}
