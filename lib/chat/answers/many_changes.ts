/** Answers about several changes: which, how many, who did most, and when. */
import { queryEvents, doerOf } from "../../pulse/query/event_query.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Dimension } from "../../pulse/query/groups.ts";
import { sameName } from "../../governance/rules/names.ts";
import type { Sense } from "../question/senses.ts";
import { listed } from "./listed.ts";
import { tellEvents } from "./log.ts";
import { type Answer, type Asking, cite, find, howFar, lines, TOLD } from "./asking.ts";

const DOER_EVENTS = { applied: "change_applied", rolled_back: "change_rolled_back" } as const;
const MOST_DONE = 20_000;

/** The changes that are asked for. */
export async function tellChanges(asking: Asking): Promise<Answer> {
  const filter = await narrowed(asking);
  const { plan, say } = asking;
  if (!plan.doer) return withRefused(asking, await listed(asking, filter));
  const { total } = await find(asking, { ...filter, limit: 1 });
  return listed(asking, filter, say.title(say.query(plan.filter) + say.by(plan.doer.name), total));
}

/** What somebody proposed and the intent refused is no change, and was proposed all the same. */
async function withRefused(asking: Asking, told: Answer): Promise<Answer> {
  const { filter, deed } = asking.plan;
  if (filter.person?.as !== "proposer" || deed !== "proposed") return told;
  const { person, tenant_id, period } = filter;
  const by = { person: { ...person, as: "either" as const }, tenant_id, period };
  const isOnlyTheirs = Object.keys(filter).every((field) => field in by);
  const refused = isOnlyTheirs
    ? await tellEvents({ ...asking, plan: { ...asking.plan, filter: by } }, ["proposal_refused"])
    : undefined;
  if (!refused || refused.isNone) return told;
  return {
    ...told,
    text: lines(told.text, refused.text),
    citations: [...told.citations, ...refused.citations],
    isNone: false,
  };
}

/** The filter of a plan; who applied or rolled back is looked up in the log. */
async function narrowed({ deps, plan }: Asking): Promise<ChangeFilter> {
  const { doer, filter } = plan;
  if (!doer) return filter;
  const { from, to } = filter.period ?? {};
  const types = [DOER_EVENTS[doer.deed]];
  const done = await queryEvents(deps.store, { types, person: doer.name, from, to, limit: MOST_DONE });
  return { ...filter, change_id: done.entries.map(({ change_id }) => change_id) };
}

/** How many there are: in all, by what is asked for or by status, and the newest of them. */
export async function countChanges(asking: Asking): Promise<Answer> {
  const { say, question } = asking;
  const filter = await narrowed(asking);
  const by = dimensionOf(asking) ?? "status";
  const { total, groups } = await find(asking, { ...filter, group: by });
  const { doer } = asking.plan;
  const heading = lines(
    say.title(doer ? say.query(asking.plan.filter) + say.by(doer.name) : say.query(filter), total),
    (by === "status" && groups.length < 2) || total === 0 ? "" : say.counts(by, groups.slice(0, 30)),
  );
  // Where something is asked for, a short list says more than a number; a breakdown of everything needs none.
  if ((question.has("each") && !question.has("who", "why")) || !asking.plan.isNarrow) {
    const ids = groups.flatMap(({ change_ids }) => change_ids).slice(0, TOLD);
    return { text: lines(heading, howFar(asking)), citations: cite("change", ids), isNone: total === 0 };
  }
  return listed(asking, filter, heading);
}

const BY_WORD: readonly [Sense, Dimension][] = [
  ["tenant", "tenant_id"],
  ["target", "target"],
  ["kind", "kind"],
  ["risk", "risk"],
  ["tier", "tier"],
  ["day", "day"],
  ["week", "week"],
  ["month", "month"],
  ["status", "status"],
  ["outcome", "verdict"],
  ["kpis", "kpi"],
];

/** What is counted by: what stands behind "per" or "most", or after "which". */
export function dimensionOf({ question, plan }: Asking): Dimension | undefined {
  const found = BY_WORD.find(([sense]) => question.has(sense));
  if (found) return found[1];
  // Who did it on the host stands beside each.
  return question.has("person", "who") && !(plan.deed && plan.deed in DOER_EVENTS) ? roleIn(plan.deed) : undefined;
}

const roleIn = (deed: string | undefined): Dimension =>
  deed === "approved" ? "approver" : deed === "denied" ? "denier" : deed === "decided" ? "decider" : "proposer";

/** Who did something most, or which tenant, target or week has most of it. */
export async function tellMost(asking: Asking): Promise<Answer> {
  const { say, plan, question, deps } = asking;
  const { deed, filter } = plan;
  const days = filter.period ? say.days(filter.period) : "";
  const by = question.has("who", "person") ? undefined : dimensionOf(asking);
  if (by === undefined && deed !== undefined && deed in DOER_EVENTS) {
    const { entries } = await queryEvents(deps.store, {
      types: [DOER_EVENTS[deed as keyof typeof DOER_EVENTS]],
      ...(filter.period?.from !== undefined && { from: filter.period.from }),
      ...(filter.period?.to !== undefined && { to: filter.period.to }),
      tenant_id: filter.tenant_id === undefined ? undefined : [filter.tenant_id].flat(),
      limit: MOST_DONE,
    });
    const groups = counted(entries.map((entry) => doerOf(entry) ?? "-"));
    const ids = [...new Set(entries.map(({ change_id }) => change_id))].slice(-TOLD);
    return { text: lines(say.most(say.deeds[deed], groups, days), howFar(asking)), citations: cite("change", ids) };
  }
  // "Who has most denied proposals?" asks for those who proposed them.
  const isWhose = /\bwho(?:se)? (?:has|had|have|got) (?:the )?(?:most|fewest|more)\b|\bwhose\b|谁的/i.test(
    question.text,
  );
  const role = by ?? (isWhose ? "proposer" : roleIn(deed));
  if (isWhose && by === undefined) {
    const { groups, total } = await find(asking, { ...filter, group: role });
    return {
      text: lines(say.title(say.query(filter), total), say.counts(role, groups), howFar(asking)),
      citations: cite("change", groups.flatMap(({ change_ids }) => change_ids).slice(0, TOLD)),
    };
  }
  // Each consent counts, on its own day.
  const { period, resolution: _, ...rest } = filter;
  const mine =
    role === "approver" || role === "decider" ? { of: "consented" as const } : { of: period?.of ?? "proposed" };
  const asked: ChangeFilter =
    by === undefined ? { ...rest, ...(period?.from || period?.to ? { period: { ...period, ...mine } } : {}) } : filter;
  const { groups, total } = await find(asking, { ...asked, group: role });
  const ids = groups.flatMap(({ change_ids }) => change_ids).slice(0, TOLD);
  const text =
    by === undefined
      ? say.most(say.deeds[deed ?? "proposed"], groups, days)
      : lines(say.title(say.query(asked), total), total === 0 ? "" : say.counts(by, groups.slice(0, 30)));
  return { text: lines(text, howFar(asking)), citations: cite("change", [...new Set(ids)]) };
}

function counted(names: readonly string[]): { key: string; count: number }[] {
  const groups = new Map<string, { key: string; count: number }>();
  for (const key of names) {
    const group = groups.get(sameName(key)) ?? { key, count: 0 };
    group.count++;
    groups.set(sameName(key), group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}
