/** Questions about the log and what went wrong, about why and whether it was worth it, and about what is kept beside changes. */
import { type Answer, type Asking, lines } from "./asking.ts";
import { tellDue } from "./due.ts";
import { tellKpis, tellOverdue, tellPeers, tellTasks } from "./figures.ts";
import { has, isOfSomebody, type Kind, VERDICTS, withoutState } from "./kind.ts";
import { tellDrift, tellEvents, tellFailures, tellLog, tellRefused } from "./log.ts";
import { countChanges, tellChanges } from "./many_changes.ts";
import { explain, namesOne } from "./one_change.ts";
import { tellReady } from "./waiting.ts";

/** What would be done to the log, and is not done through it. */
const ALTERED =
  /\b(?:has|have|had|been|be|was|were|anybody|anyone|somebody|someone) (?:changed|altered|modified)\b|被?人?(?:改过|动过)/i;

/** What drifts now; of the past, what the log tells. */
async function driftOrHistory(asking: Asking): Promise<Answer> {
  if (asking.question.periods.length === 0) return tellDrift(asking);
  const { drifted: _, ...filter } = asking.plan.filter;
  return tellEvents({ ...asking, plan: { ...asking.plan, filter } }, ["change_drifted"]);
}

/** What came after is asked for too. */
const AFTER = /后来|之后呢|然后呢|\band then\b|\bafterwards\b|\bsince then\b|\bin the end\b/i;

/** What failed; where it is asked what came then, with all that became of the change. */
async function failuresAndAfter(asking: Asking): Promise<Answer> {
  const failed = await tellFailures(asking);
  const whole = namesOne(asking) && AFTER.test(asking.question.text) ? await explain(asking) : undefined;
  return whole
    ? { ...failed, text: lines(failed.text, whole.text), citations: [...failed.citations, ...whole.citations] }
    : failed;
}

/** Verdicts are of what was applied. */
const ofApplied = ({ plan }: Asking): Asking["plan"] => ({
  ...plan,
  filter: { ...plan.filter, period: { ...plan.filter.period, of: "applied" } },
});

/** "Which change hurt us most?" asks for changes, and for nobody who made most of them. */
const asksForOne = ({ question }: Asking): boolean =>
  question.has(...VERDICTS) && !question.has("who", "person", "tenant", "kind", "target", "week", "month");

/** In the order in which they are tried. */
export const OF_RECORDS: readonly Kind[] = [
  {
    name: "log",
    fits: ({ question }) =>
      question.has("checkpoint") ||
      (question.has("log") && question.periods.length === 0 && question.has("how_many")) ||
      (question.has("log") && ALTERED.test(question.text)) ||
      (question.has("log") &&
        question.periods.length === 0 &&
        !question.has("happened") &&
        !question.named("change").length) ||
      (question.has("intact") && !question.has("drifted")),
    tells: ["log", "drifted"],
    passes: ["tenant", "target", "kpi"],
    answer: tellLog,
  },
  {
    name: "entries",
    fits: ({ question }) => question.has("log") && question.periods.length > 0,
    answer: (asking) => tellEvents(asking),
  },
  { name: "why", fits: (asking) => has("why")(asking) && namesOne(asking), answer: explain },
  {
    name: "one promise",
    fits: (asking) => namesOne(asking) && asking.question.has("outcome", ...VERDICTS),
    answer: (asking) => explain({ ...asking, plan: withoutState(asking) }),
  },
  {
    name: "ready",
    fits: (asking) => has("ready")(asking) && !has("failed")(asking),
    tells: ["ready", "approved", "applied", "frozen", "windows", "expired", "lapsed"],
    answer: tellReady,
  },
  {
    name: "verdicts",
    fits: (asking) =>
      !namesOne(asking) &&
      asking.question.has("outcome", ...VERDICTS) &&
      !asking.question.has("how_many") &&
      !(asking.question.has("most") && !asksForOne(asking)) &&
      (!asking.question.has("goals", "kpis") || asking.question.has("change", "outcome")),
    tells: ["met", "missed", "regressed", "applied", "kpis", "goals"],
    answer: async (asking) =>
      asking.plan.filter.verdict !== undefined || asking.question.has(...VERDICTS)
        ? tellChanges(asking)
        : countChanges({ ...asking, plan: ofApplied(asking) }),
  },
  {
    name: "drift",
    fits: (asking) => has("drifted")(asking) && !asking.question.has("how_many"),
    tells: ["drifted", "applied", "approved", "live"],
    answer: driftOrHistory,
  },
  {
    name: "refused",
    // Whom a person refused, or which change, was denied.
    fits: (asking) => has("refused")(asking) && !isOfSomebody(asking) && !namesOne(asking),
    answer: tellRefused,
  },
  {
    name: "tasks",
    fits: has("tasks"),
    tells: ["tasks", "failed"],
    passes: ["tenant", "target", "kpi", "period"],
    answer: tellTasks,
  },
  {
    name: "failed",
    fits: (asking) => has("failed")(asking) && !has(...VERDICTS)(asking) && asking.plan.filter.verdict === undefined,
    tells: ["failed", "drifted", "applied", "rolled_back", "attempts", "ready"],
    answer: failuresAndAfter,
  },
  {
    name: "due",
    isOfAhead: true,
    fits: (asking) => has("due")(asking) && !has("overdue", "need")(asking),
    tells: ["expired", "lapsed", "goals", "kpis", "approved", "applied", "emergency", "ready"],
    // How far a goal is stands with its deadline.
    answer: (asking) =>
      asking.plan.filter.kpi !== undefined && asking.question.has("how_many", "goals", "kpis", "needed")
        ? tellKpis(asking)
        : tellDue(asking),
  },
  {
    name: "overdue",
    fits: has("overdue", "need"),
    tells: ["kpis", "goals", "unfed", "drifted", "approved", "emergency", "tasks"],
    passes: ["tenant", "target", "kpi", "period"],
    answer: tellOverdue,
  },
  {
    name: "peers",
    fits: has("peers"),
    tells: ["peers", "log"],
    passes: ["tenant", "target", "kpi", "period"],
    answer: tellPeers,
  },
];
