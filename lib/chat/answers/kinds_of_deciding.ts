/** Questions about who decides, who may, and what waits for whom; and the rules for that. */
import { isProposers } from "../question/people.ts";
import { refuseToAct, verbIn } from "./act.ts";
import { type Answer, type Asking, lines } from "./asking.ts";
import { isOfSomebody, type Kind, peopleIn, withoutState } from "./kind.ts";
import { tellFreezes } from "./freezes.ts";
import { tellRefused, tellUnnoted } from "./log.ts";
import { namesOne, tellMissing, tellWhetherMay } from "./one_change.ts";
import { tellPolicy } from "./policy.ts";
import { tellReviews, tellWaiting, tellWaitingFor } from "./waiting.ts";

/** What is told of each person, one after the other; undefined where there is nothing to tell of anybody. */
async function ofEach(
  people: readonly string[],
  tell: (person: string) => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const told = (await Promise.all(people.map(tell))).filter((answer) => answer !== undefined);
  if (told.length === 0) return undefined;
  return { text: lines(told.map(({ text }) => text)), citations: told.flatMap(({ citations }) => citations) };
}

/** Proposals that were not accepted because they are forbidden; what is forbidden is the policy's. */
function isOfRefusals({ question: { has, periods } }: Asking): boolean {
  return has("forbidden") && has("proposed") && (has("refused", "denied", "not", "happened") || periods.length > 0);
}

/** A change is named by its id or its target; words of its summary may be those of several. */
const isNamed = ({ plan }: Asking): boolean => plan.filter.change_id !== undefined || plan.filter.target !== undefined;

const isPossessive = ({ question: { tokens } }: Asking): boolean =>
  tokens.some((token, place) => token.type === "name" && token.named.kind === "person" && isProposers(tokens, place));

function withoutPerson({ plan }: Asking): Asking["plan"] {
  const { person: _, period: __, ...filter } = plan.filter;
  return { ...plan, filter };
}

const REVIEWED = /\b(?:were|was|did|been|got|get|who reviewed)\b|复核(?:了|过|的)/i;

const UNNOTED =
  /\b(?:no|without an?y?|without) (?:note|comment|remark)s?\b|(?:没有?|未|无)(?:写|留|给|附)?(?:任何)?(?:备注|附注|意见)/i;

const isOfReviews = ({ question }: Asking): boolean =>
  question.has("overdue", "due", "pending", "waits", "which", "who", "expired", "needed", "may", "open") &&
  !question.has("denied") &&
  !/\bhappen|发生/i.test(question.text) &&
  question.periods.length === 0;

/** In the order in which they are tried. */
export const OF_DECIDING: readonly Kind[] = [
  {
    name: "act",
    fits: (asking) => verbIn(asking) !== undefined,
    answer: (asking) => refuseToAct(asking, verbIn(asking)!),
  },
  {
    name: "consents without a note",
    fits: ({ question }) => question.has("approved") && UNNOTED.test(question.text) && !question.has("denied"),
    answer: tellUnnoted,
  },
  {
    name: "may approve",
    fits: (asking) =>
      asking.question.has("may", "needed") &&
      asking.question.has("approved", "decided") &&
      !asking.question.has("who") &&
      namesOne(asking) &&
      isOfSomebody(asking),
    answer: (asking) =>
      ofEach(peopleIn(asking), (person) => tellWhetherMay({ ...asking, plan: withoutPerson(asking) }, person)),
  },
  {
    name: "waits for whom",
    fits: (asking) =>
      namesOne(asking) &&
      (!isOfSomebody(asking) || (isNamed(asking) && asking.question.has("who", "whom"))) &&
      asking.question.has("who", "whom", "needed", "waits", "pending") &&
      asking.question.has("waits", "whom", "pending", "needed", "may") &&
      !asking.question.has("why", "reviewed"),
    answer: (asking) => tellMissing({ ...asking, plan: withoutState(asking) }),
  },
  {
    name: "waits for somebody",
    isOfAhead: true,
    fits: (asking) => {
      const { question } = asking;
      const asks =
        question.has("waits", "pending") ||
        ((question.has("needed") || question.ahead !== undefined) && question.has("approved", "decided", "reviewed"));
      return (
        asks &&
        (question.has("me") || isOfSomebody(asking)) &&
        !isNamed(asking) &&
        !/\b(?:proposed|proposals?) by\b/.test(question.text) &&
        !isPossessive(asking)
      );
    },
    answer: async (asking) => {
      const told = await ofEach(peopleIn(asking), (person) => tellWaitingFor(asking, person));
      if (told) return told;
      const waiting = await tellWaiting(asking);
      return { ...waiting, text: `${asking.say.whoAsks}\n${waiting.text}` };
    },
  },
  {
    name: "reviews",
    fits: (asking) =>
      asking.question.has("reviewed") &&
      // How one was reviewed stands with the rest of it.
      !(namesOne(asking) && REVIEWED.test(asking.question.text)) &&
      isOfReviews(asking),
    tells: ["emergency", "expired"],
    passes: ["tenant", "target", "kpi", "period"],
    answer: (asking) => tellReviews(asking, REVIEWED.test(asking.question.text)),
  },
  { name: "forbidden proposals", fits: isOfRefusals, answer: tellRefused },
  {
    name: "freezes",
    fits: ({ question }) =>
      question.has("frozen") &&
      (question.periods.length > 0 || question.has("who", "why", "when", "happened", "how_many")),
    tells: ["frozen", "applied", "windows"],
    passes: ["tenant", "target", "kpi"],
    answer: tellFreezes,
  },
  {
    name: "policy",
    fits: (asking) => {
      const { question } = asking;
      if (question.has("frozen", "guardrails", "windows", "policy"))
        return !question.has("rolled_back") || question.has("policy");
      if (question.has("forbidden")) return true;
      if (question.has("emergency") && question.has("may", "needed")) return true;
      if (question.has("approvers", "owners") && question.has("who", "which", "may", "how_many"))
        return !namesOne(asking) || question.has("owners");
      const rule = question.has("may", "needed") && question.has("approved", "decided", "who");
      return (
        rule && !asking.plan.filter.change_id && !question.has("pending", "ready", "waits") && !question.periods.length
      );
    },
    answer: tellPolicy,
  },
];
