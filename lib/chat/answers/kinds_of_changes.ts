/** Questions about changes, how many, which and whose; about the figures; and about all that happened. */
import type { Answer, Asking } from "./asking.ts";
import { tellFigures, tellKpis, tellStatus } from "./figures.ts";
import { has, type Kind, VERDICTS, withoutState } from "./kind.ts";
import { tellEvents } from "./log.ts";
import { countChanges, dimensionOf, tellChanges, tellMost } from "./many_changes.ts";
import { askWhich, explain, namesOne, tellLive } from "./one_change.ts";
import { tellWaiting } from "./waiting.ts";

/** What one change did becomes plain where it is told whole. */
async function changesOrOne(asking: Asking): Promise<Answer | undefined> {
  const { plan, question } = asking;
  const ids = [plan.filter.change_id ?? []].flat();
  // Of a change that waits, somebody may have approved.
  if (namesOne(asking) && question.has("who") && plan.deed === "approved" && question.periods.length === 0)
    return explain({ ...asking, plan: withoutState(asking) });
  return ids.length === 1 && !question.has("who") ? explain(asking) : tellChanges(asking);
}

/** "Which changes" asks for several. */
const isSeveral = ({ question }: Asking): boolean => /\b(?:changes|proposals)\b|哪些/i.test(question.text);

/** A question about a KPI's value, and not about the changes that name it. */
const isOfKpis = ({ question, plan }: Asking): boolean =>
  question.named("kpi").length > 0 &&
  question.named("target").length === 0 &&
  plan.deed === undefined &&
  !question.has("change", "outcome", "pending", "live", ...VERDICTS);

/** Nothing narrows it but days and tenants. */
const isBroad = ({ plan, question }: Asking): boolean =>
  !plan.isNarrow ||
  (question.periods.length === 0 &&
    plan.filter.text === undefined &&
    plan.filter.resolution !== undefined &&
    plan.deed === "denied");

/** In the order in which they are tried. */
export const OF_CHANGES: readonly Kind[] = [
  {
    name: "most",
    fits: (asking) =>
      asking.question.has("most") ||
      (asking.question.has("who") &&
        !asking.question.has("which", "why", "when") &&
        asking.plan.deed !== undefined &&
        !asking.question.has("newest", "oldest") &&
        !namesOne(asking) &&
        !asking.plan.filter.person &&
        isBroad(asking)),
    tells: [],
    answer: tellMost,
  },
  {
    name: "how many",
    fits: (asking) =>
      asking.question.has("how_many") || (asking.question.has("each") && dimensionOf(asking) !== undefined),
    tells: ["kpis", "goals", "duration", "attempts"],
    answer: (asking) => (isOfKpis(asking) ? tellKpis(asking) : countChanges(asking)),
  },
  {
    name: "figures",
    fits: (asking) => asking.question.has("effect", "memory_figure", "reliability") && !isOfKpis(asking),
    tells: ["failed", "kpis", "goals"],
    passes: ["tenant", "target", "kpi", "period"],
    answer: tellFigures,
  },
  {
    name: "kpis",
    fits: (asking) => has("kpis", "goals")(asking) || isOfKpis(asking),
    tells: ["kpis", "goals", "unfed", "met", "missed", "regressed", "expired"],
    passes: ["tenant", "target", "period"],
    answer: tellKpis,
  },
  {
    name: "live",
    fits: (asking) => has("live", "value")(asking) && !asking.plan.filter.person,
    tells: ["live", "applied"],
    passes: ["period"],
    answer: tellLive,
  },
  {
    name: "happened",
    fits: (asking) => {
      const { question, plan } = asking;
      if (plan.deed !== undefined && !question.has("happened")) return false;
      // With a part of it not understood, everything that ever happened answers nothing.
      if (plan.left.length > 0 && !plan.isNarrow) return false;
      if (question.has("happened")) return plan.deed === undefined || plan.deed === "closed";
      return question.periods.length > 0 && plan.deed === undefined && !question.has("pending", "open");
    },
    answer: tellEvents,
  },
  {
    name: "decisions",
    fits: ({ question, plan }) =>
      plan.deed === "decided" && !plan.filter.person && !question.has("how_many") && question.periods.length > 0,
    tells: ["approved", "denied", "withdrawn", "revoked", "expired", "lapsed", "emergency"],
    answer: (asking) => tellEvents({ ...asking, plan: withoutState(asking, "days") }, ["consent_decision"]),
  },
  {
    name: "waiting",
    fits: ({ question, plan }) =>
      question.has("pending", "waits", "open") && (plan.filter.person?.as ?? "proposer") === "proposer",
    tells: ["approved", "ready"],
    answer: (asking) => tellWaiting(asking, asking.question.has("pending") ? "pending_consent" : undefined),
  },
  {
    name: "why alone",
    fits: (asking) =>
      has("why")(asking) &&
      !asking.plan.isNarrow &&
      asking.plan.deed === undefined &&
      asking.question.named("change").length === 0,
    answer: askWhich,
  },
  {
    name: "one change",
    fits: (asking) => namesOne(asking) && asking.plan.deed === undefined && !isSeveral(asking),
    answer: explain,
  },
  {
    name: "changes",
    fits: ({ plan }) => plan.isNarrow || plan.deed !== undefined,
    tells: ["duration", "attempts"],
    answer: changesOrOne,
  },
  { name: "newest", isBroad: true, fits: has("newest", "oldest", "change"), answer: tellChanges },
  {
    name: "status",
    fits: has("status"),
    passes: ["tenant", "target", "kpi", "period"],
    tells: ["log", "kpis", "goals", "tasks"],
    answer: ({ deps, say }) => tellStatus(deps, say),
  },
];
