/** Questions for what is measured: how many people, how long, how often, and which change has most of it; and for what time does. */
import { verbIn } from "./act.ts";
import { tellDue } from "./due.ts";
import { tellKpis } from "./figures.ts";
import { isDuringFreeze, tellDuringFreeze } from "./freezes.ts";
import { type Kind, withoutState } from "./kind.ts";
import { tellMeasured } from "./measured.ts";
import { measureIn } from "./measures.ts";
import { explain, namesOne } from "./one_change.ts";
import { tellPolicy } from "./policy.ts";

/** "Which changes" asks for several. */
const SEVERAL = /\b(?:changes|proposals|approvals|consents|on average|average)\b|哪些|平均/i;

/** In the order in which they are tried. */
export const OF_MEASURES: readonly Kind[] = [
  {
    name: "during a freeze",
    fits: isDuringFreeze,
    answer: tellDuringFreeze,
  },
  {
    name: "unfed KPIs",
    fits: ({ question }) =>
      question.has("unfed") &&
      (question.has("kpis", "goals") || question.named("kpi").length > 0 || !question.has("overdue")),
    tells: ["unfed", "kpis", "goals"],
    passes: ["tenant", "target", "period"],
    answer: tellKpis,
  },
  {
    name: "time limits",
    fits: (asking) => {
      const { question } = asking;
      const isOfTime = question.has("expired", "lapsed") || (question.has("may") && question.has("waits", "pending"));
      return question.has("duration") && isOfTime && !namesOne(asking) && !question.has("most", "least");
    },
    answer: tellPolicy,
  },
  {
    name: "one change measured",
    fits: (asking) => {
      const { question } = asking;
      const isAsked =
        question.has("duration", "attempts", "irreversible", "reversible") ||
        (question.has("reach") && question.has("person", "how_many", "tenant")) ||
        (question.has("when", "due") && question.has("expired", "lapsed")) ||
        (question.has("reviewed") && question.has("due", "overdue") && question.has("happened", "emergency")) ||
        (question.has("how_many") && question.has("approved") && !question.has("change"));
      const isOfOne =
        question.named("target").length < 2 && !question.has("most", "least") && !SEVERAL.test(question.text);
      return isAsked && isOfOne && namesOne(asking) && verbIn(asking) === undefined;
    },
    answer: (asking) => explain({ ...asking, plan: withoutState(asking) }),
  },
  {
    name: "measured",
    fits: (asking) =>
      measureIn(asking) !== undefined &&
      !asking.question.has("log", "frozen", "tasks", "kpis", "goals") &&
      verbIn(asking) === undefined,
    tells: ["duration", "attempts", "approved", "applied", "denied", "rolled_back", "live", "emergency"],
    answer: (asking) => tellMeasured(asking, measureIn(asking)!),
  },
  {
    name: "ends when",
    // Of what has ended days are named, or a person who did it.
    fits: (asking) =>
      asking.question.has("when") &&
      asking.question.has("expired", "lapsed") &&
      !asking.question.has("ready") &&
      /\b(?:do|does|will)\b|什么时候(?!.*了)|会|将/i.test(asking.question.text) &&
      asking.question.periods.length === 0 &&
      !namesOne(asking),
    isOfAhead: true,
    tells: ["expired", "lapsed", "approved", "applied"],
    answer: tellDue,
  },
  {
    name: "due then",
    fits: ({ question }) =>
      question.ahead !== undefined &&
      !question.has("may") &&
      (question.named("kpi").length === 0 || question.has("due")) &&
      !question.has("frozen", "windows", "me", "policy", "tasks", "log", "goals", "kpis") &&
      question.named("person").length === 0,
    isOfAhead: true,
    tells: ["expired", "lapsed", "approved", "applied", "emergency", "ready"],
    answer: tellDue,
  },
];
