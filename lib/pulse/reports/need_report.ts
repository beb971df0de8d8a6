import type { PulseDeps } from "../deps.ts";
import { AGE_CLASSES, type AgeClass, overdueOf } from "../overdue.ts";
import { HOUR_MS } from "../../kit/days.ts";
import type { Figures } from "../figures.ts";
import { staleKpis } from "../need.ts";
import { code, list, page, quoted, share, table } from "./markdown.ts";

const SHOWN = 20;

/** N: what is overdue, the oldest first. */
export async function needReport(deps: PulseDeps, { need, effect }: Figures): Promise<string> {
  const { store, clock } = deps;
  const items = [
    ...(await overdueChanges(deps)),
    ...(await Promise.all(AGE_CLASSES.slice(1).map((ageClass) => overdueTasks(deps, ageClass)))).flat(),
    ...(await store.list("drift", { limit: SHOWN })).map(
      ({ value }) =>
        `the host no longer shows ${code(value.change_id)} on ${code(value.target)}: ${value.state} since ${value.since}`,
    ),
    ...staleKpis(effect, clock.now()).map((kpi) => `${code(kpi)} was not fed for more than 7 days`),
    ...(deps.integrity.breach ? [`the audit chain does not hold at entry ${deps.integrity.breach.first_invalid}`] : []),
  ];
  return page(
    "## Need: what is overdue",
    `N is ${share(need.value)}: of ${need.open} open items, ${need.at_least ? "at least " : ""}${need.overdue} are overdue.`,
    openItems(need),
    items.length > 0 ? "Overdue:" : "Nothing is overdue.",
    list(items.slice(0, SHOWN * 2)),
    "Computed from pending changes, open tasks, drift, the age of the KPIs and the state of the audit chain.",
  );
}

/** What is open, as a table; `undefined` when nothing is. */
export const openItems = ({ items }: Figures["need"]): string | undefined =>
  table(
    ["item", "open", "overdue"],
    items.map(({ item, open, overdue }) => [item, open, overdue]),
  );

const age = ({ clock }: PulseDeps, since: string): string =>
  `${Math.floor((clock.now() - Date.parse(since)) / HOUR_MS)} h`;

async function overdueChanges(deps: PulseDeps): Promise<string[]> {
  const records = await deps.store.getMany("changes", await overdueOf(deps, "pending_changes", SHOWN));
  return records.flatMap((record) => {
    if (record?.value.change.status !== "pending_consent") return [];
    const { change_id, target, summary, created_at, approvals, required_approvers } = record.value.change;
    const consents = `${approvals.length} of ${required_approvers} consents`;
    return [
      `${code(change_id)} on ${code(target)} ${quoted(summary)}: pending for ${age(deps, created_at)}, ${consents}`,
    ];
  });
}

async function overdueTasks(deps: PulseDeps, ageClass: AgeClass): Promise<string[]> {
  const records = await deps.store.getMany("tasks", await overdueOf(deps, ageClass, SHOWN));
  return records.flatMap((record) => {
    if (!record) return [];
    const { task_id, title, priority, created_at } = record.value.task;
    return [`task ${code(task_id)} ${quoted(title)} (${priority}): open for ${age(deps, created_at)}`];
  });
}
