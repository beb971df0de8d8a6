/** What is due next: what expires or lapses unless somebody acts, reviews of emergencies, and goals by their deadlines. */
import type { Change } from "../../governance/rules/change.ts";
import { deadlineOf as endOf } from "../../governance/rules/in_force.ts";
import { kpiNames } from "../../governance/rules/intent.ts";
import { deadlineOf as goalBy } from "../../governance/rules/kpi.ts";
import { readRecords } from "../../governance/records.ts";
import { reviewsDue } from "../../governance/reviews_due.ts";
import { idsFrom } from "../../pulse/query/change_query.ts";
import type { Plan } from "../question/plan.ts";
import { type Answer, type Asking, cite, howFar, lines, TOLD } from "./asking.ts";

/** Something with the moment at which its time is over. */
type Due = { at: number } & ({ change: Change; is: "review" | "consent" | "apply" } | { kpi: string });

/** What is due, the soonest first. */
export async function tellDue(asking: Asking): Promise<Answer> {
  const { deps, plan, say } = asking;
  const { intent } = deps.product!;
  const filter = aboutOf(plan);
  const isAll = Object.keys(filter).length === 0;
  const waiting = new Set(
    await idsFrom(deps, asking.seen, { ...filter, status: ["pending_consent", "approved"] as const }),
  );
  const ends = asking.seen.rows.flatMap((row) => {
    const at = waiting.has(row.change_id) ? endOf(row, intent.policy) : undefined;
    return at === undefined ? [] : [{ at, id: row.change_id }];
  });
  ends.sort((a, b) => a.at - b.at);
  const first = ends.slice(0, TOLD);
  const records = await readRecords(
    deps.store,
    first.map(({ id }) => id),
  );
  const asked = isAll ? undefined : new Set(await idsFrom(deps, asking.seen, filter));
  const reviews = (await reviewsDue(deps.store)).filter(({ change_id }) => !asked || asked.has(change_id));
  const goals = isAll ? kpiNames(intent).map((kpi) => ({ kpi, at: goalBy(intent.kpis[kpi]) })) : [];
  const due: Due[] = [
    ...first.flatMap(({ at }, index): Due[] => {
      const change = records[index]?.change;
      return change ? [{ at, change, is: change.status === "approved" ? "apply" : "consent" }] : [];
    }),
    ...reviews.map((change) => ({ at: Date.parse(change.review?.due_at ?? ""), change, is: "review" as const })),
    ...goals.filter(({ at }) => at !== Infinity && at >= deps.clock.now()),
  ].sort((a, b) => a.at - b.at);
  const told = due.slice(0, TOLD);
  const total = due.length + ends.length - first.length;
  return {
    text: lines(
      say.due(isAll ? "" : say.about(filter), total),
      told.map((one) => {
        const at = new Date(one.at).toISOString();
        return "kpi" in one ? say.dueGoal(at, one.kpi) : say.dueChange(at, one.is, one.change);
      }),
      total > told.length ? say.more(total - told.length, say.narrower) : "",
      howFar(asking),
    ),
    citations: told.flatMap((one) => ("kpi" in one ? cite("kpi", [one.kpi]) : cite("change", [one.change.change_id]))),
  };
}

/** Which changes, whatever is said to have become of them. */
function aboutOf({ filter }: Plan): Plan["filter"] {
  const { period: _, resolution: __, status: ___, person: ____, ...about } = filter;
  return about;
}
