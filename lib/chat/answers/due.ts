/** What is due: what expires or lapses unless somebody acts, reviews of emergencies, and goals by their deadlines. */
import { deadlineOf as endOf } from "../../governance/rules/in_force.ts";
import { kpiNames } from "../../governance/rules/intent.ts";
import { deadlineOf as goalBy } from "../../governance/rules/kpi.ts";
import { readRecords } from "../../governance/records.ts";
import { reviewsDue } from "../../governance/reviews_due.ts";
import { idsFrom } from "../../pulse/query/change_query.ts";
import type { Period } from "../question/periods.ts";
import type { Plan } from "../question/plan.ts";
import { type Answer, type Asking, cite, howFar, lines, TOLD } from "./asking.ts";

/** Something with the moment at which its time is over: a change by its id, or a KPI with its goal. */
type Due = { at: number } & ({ id: string; is: "review" | "consent" | "apply" } | { kpi: string });

/** What is due, the soonest first; within the days that are asked for, where the question names any that are to come. */
export async function tellDue(asking: Asking): Promise<Answer> {
  const { deps, plan, say, question } = asking;
  const { intent } = deps.product!;
  const filter = aboutOf(plan);
  const isAll = Object.keys(filter).length === 0;
  const asked = new Set(await idsFrom(deps, asking.seen, filter));
  const ends = asking.seen.rows.flatMap((row): Due[] => {
    const at = asked.has(row.change_id) ? endOf(row, intent.policy) : undefined;
    return at === undefined ? [] : [{ at, id: row.change_id, is: row.status === "approved" ? "apply" : "consent" }];
  });
  const reviews = (await reviewsDue(deps.store)).filter(({ change_id }) => isAll || asked.has(change_id));
  const { kpi: named, ...others } = filter;
  const ofGoals = Object.keys(others).length > 0 ? [] : named === undefined ? kpiNames(intent) : [named].flat();
  const goals = ofGoals.map((kpi) => ({ kpi, at: goalBy(intent.kpis[kpi]) }));
  const due: Due[] = [
    ...ends,
    ...reviews.map(({ change_id: id, review }): Due => ({ at: Date.parse(review?.due_at ?? ""), id, is: "review" })),
    // The deadline is the last moment at which the goal may be reached.
    ...goals.filter(({ at }) => at !== Infinity && at >= deps.clock.now()).map(({ kpi, at }) => ({ kpi, at: at - 1 })),
  ]
    .filter(({ at }) => isWithin(at, question.ahead))
    .sort((a, b) => a.at - b.at);
  const told = due.slice(0, TOLD);
  const ids = told.flatMap((one) => ("id" in one ? [one.id] : []));
  const records = await readRecords(deps.store, [...new Set(ids)]);
  const changes = new Map(records.flatMap((record) => (record ? [[record.change.change_id, record.change]] : [])));
  const days = question.ahead ? say.days(question.ahead) : "";
  return {
    text: lines(
      say.due(`${isAll ? "" : say.about(filter)}${days}`, due.length),
      told.map((one) => {
        const at = new Date(one.at).toISOString();
        if ("kpi" in one) return say.dueGoal(at, one.kpi);
        const change = changes.get(one.id);
        return change ? say.dueChange(at, one.is, change) : "";
      }),
      due.length > told.length ? say.more(due.length - told.length, say.narrower) : "",
      howFar(asking),
    ),
    citations: told.flatMap((one) => ("kpi" in one ? cite("kpi", [one.kpi]) : cite("change", [one.id]))),
    isWhole: true,
  };
}

/** Whether a moment lies in days, both ends as far as they are named. */
export const isWithin = (at: number, days: Period | undefined): boolean =>
  days === undefined ||
  (at >= Date.parse(days.from ?? "1970-01-01") && (days.to === undefined || at < Date.parse(days.to)));

/** Which changes, whatever is said to have become of them. */
function aboutOf({ filter }: Plan): Plan["filter"] {
  const { period: _, resolution: __, status: ___, person, ...about } = filter;
  return person?.as === "proposer" ? { ...about, person } : about;
}
