/** Answers about freezes of all applies: when, by whom and why, and what was done while one was in force. */
import { shownFreeze } from "../../governance/freeze.ts";
import { queryEvents } from "../../pulse/query/event_query.ts";
import { type Answer, type Asking, lines } from "./asking.ts";
import { tellEvents } from "./log.ts";
import { tellChanges } from "./many_changes.ts";

/** The freezes of all applies, and whether one is in force. */
export async function tellFreezes(asking: Asking): Promise<Answer> {
  const { person, period } = asking.plan.filter;
  const plan = { ...asking.plan, filter: { person, period } };
  const told = await tellEvents({ ...asking, plan }, ["service_frozen", "service_unfrozen"]);
  return { ...told, text: lines(told.text, asking.say.freeze(await shownFreeze(asking.deps))) };
}

const DURING = /\b(?:during|while|despite|throughout|amid|in spite of|in the middle of)\b|期间|期内|期里|冻着|时候/i;

/** Whether it is asked what was done while applies were frozen. */
export const isDuringFreeze = ({ question, plan }: Asking): boolean =>
  question.has("frozen") &&
  DURING.test(question.text) &&
  (plan.deed !== undefined || question.has("happened", "failed", "change", "emergency"));

/** What was done during the newest freeze of the days that are asked for; undefined where there was none. */
export async function tellDuringFreeze(asking: Asking): Promise<Answer | undefined> {
  const { deps, plan, say, question } = asking;
  const { from, to } = plan.filter.period ?? {};
  const types = ["service_frozen", "service_unfrozen"] as const;
  const { entries } = await queryEvents(deps.store, { types, from, to });
  const begun = entries.findLast(({ event_type }) => event_type === "service_frozen");
  if (!begun) return undefined;
  const lifted = entries.find(({ id, event_type }) => id > begun.id && event_type === "service_unfrozen")?.timestamp;
  const now = new Date(deps.clock.now()).toISOString();
  const ends = [lifted, begun.facts.until ?? undefined, now].filter((one) => one !== undefined).sort();
  const days = { from: begun.timestamp, to: ends[0]! };
  const of = plan.filter.period?.of ?? (question.has("emergency") ? "consented" : "applied");
  const within = { ...asking, plan: { ...plan, filter: { ...plan.filter, period: { of, ...days } } } };
  const isOfAll = plan.deed === undefined && question.has("happened", "failed");
  const told = isOfAll ? await tellEvents(within) : await tellChanges(within);
  return { ...told, text: lines(say.frozenThen(begun.facts.actor ?? null, days, begun.facts.note ?? ""), told.text) };
}
