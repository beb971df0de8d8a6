/** Carries a KPI feed through one governed transaction. */
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { ChangesDeps } from "./deps.ts";
import { judgeGuardrails } from "./guardrail.ts";
import { effectOf } from "./rules/effect.ts";
import { feed, NO_KPIS } from "./rules/kpi.ts";
import { governed } from "./transaction.ts";

/** Values of KPIs, and who or what says so. */
export interface KpiFeed {
  values: Record<string, number>;
  actor?: string | undefined;
  note?: string | undefined;
}

/** Feeds KPIs and answers whether any of them counts in E. One entry; a cycle is queued and not waited for. */
export async function feedKpis(call: Call<ChangesDeps>, { values: fed, actor, note }: KpiFeed): Promise<Answer> {
  const fedAnswer = await governed(call, async (transaction) => {
    // A program that no proxy names may still say what it is called.
    requirePerson({ ...call, person: call.person || undefined }, "actor", actor);
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
      ...actorOf(call, actor),
      ...(note && { note }),
    };
    const entry = append({ event_type: "kpi_refreshed", detail: { values: fed, E, refreshed, ...facts } });
    return answer({ refreshed, E, accepted: fed, at, audit_entry: entry });
  });
  call.deps.wake?.();
  return fedAnswer;
}
