/** Carries a KPI feed through one governed transaction. */
import type { GovernanceDeps } from "./deps.ts";
import { rememberKpis } from "../memory/remember_steps.ts";
import type { Call } from "../http/endpoint.ts";
import { type Answer, answer } from "../http/answer.ts";
import { closeDueOutcomes } from "../pulse/close_outcomes.ts";
import { effectOf } from "./rules/effect.ts";
import { tallyFeed } from "../follow/tally_steps.ts";
import { judgeGuardrails } from "./guardrail.ts";
import { feed, NO_KPIS } from "./rules/kpi.ts";
import { governed } from "./transaction.ts";

/** Feeds KPIs and answers whether any of them counts in E. Outcomes whose time is over are frozen first: this
 * feed is none of theirs. One entry; a cycle is queued and not waited for. */
export async function feedKpis(call: Call<GovernanceDeps>, fed: Record<string, number>): Promise<Answer> {
  await closeDueOutcomes(call.deps);
  const fedAnswer = await governed(call, async (unit) => {
    const before = (await unit.tx.get("kpi", "latest"))?.value ?? NO_KPIS;
    const after = feed(before, fed, unit.at, unit.nextEntryId());
    const effect = effectOf(after, unit.product.intent);
    const refreshed = effect.parts.some(({ kpi, attainment }) => Object.hasOwn(fed, kpi) && attainment !== null);
    unit.tx.put("kpi", "latest", after);
    unit.tx.put("kpi_days", unit.at.slice(0, 10), { at: unit.at, values: after.values });
    await judgeGuardrails(unit, fed);
    await tallyFeed(unit);
    await rememberKpis(unit.tx, after, effect.value, unit.at);
    const entry = unit.append({ event_type: "kpi_refreshed", detail: { values: fed, E: effect.value, refreshed } });
    return answer({ refreshed, E: effect.value, accepted: fed, at: unit.at, audit_entry: entry });
  });
  call.deps.wake?.();
  return fedAnswer;
}
