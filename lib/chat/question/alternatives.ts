/** A question that asks for one thing or another, as a question for each. */
import { type Deed, deedOf, ENDS } from "./deeds.ts";
import type { Period } from "./periods.ts";
import { type Question, withTokens } from "./read.ts";
import type { Sense } from "./senses.ts";
import type { Token } from "./token.ts";

/** The questions that are asked: itself where it asks for no alternatives. Of the ways to end unapplied any is asked for together. */
export function alternativesOf(question: Question): Question[] {
  const { tokens } = question;
  const pulled = tokens.findIndex(isEither);
  if (pulled !== -1) {
    // What was live can only have been rolled back.
    const meant: readonly Deed[] = question.has("applied", "live") ? ["rolled_back"] : ["rolled_back", "withdrawn"];
    return meant.map((deed) => meaning(question, pulled, deed));
  }
  const compared = comparedIn(question);
  if (compared) return compared;
  const or = tokens.findIndex((token, place) => {
    if (!/^(?:or|或|或者|还是)$/.test(token.words)) return false;
    const [before, behind] = [deedOf(tokens[place - 1]), deedOf(tokens[place + 1])];
    return before !== undefined && behind !== undefined && before !== behind && !(before in ENDS && behind in ENDS);
  });
  if (or === -1) return [question];
  return [or + 1, or - 1].map((left) => meaning(question, left));
}

const COMPARED = /^(?:compared|compare|versus|vs|than|相比|环比|比)$/;
const BEFORE = /^(?:to|with|the|and|week|month|day|before|one|previous|上|前|前一|一|周|个|月|天)$/;
/** So many words name the days before. */
const NAMING = 5;

/** "Compared to the week before": the days that are named, and as many before them. */
function comparedIn(question: Question): Question[] | undefined {
  if (!/\bthe (?:week|month|day|one) before\b(?! last)|前一|环比/i.test(question.text)) return undefined;
  const at = question.tokens.findIndex(({ words }) => COMPARED.test(words));
  const [period, ...others] = question.periods;
  if (at === -1 || others.length > 0 || period?.from === undefined || period.to === undefined) return undefined;
  const tokens = question.tokens.filter(
    ({ words }, place) => place !== at && !(Math.abs(place - at) <= NAMING && place > at && BEFORE.test(words)),
  );
  const earlier = tokens.map((token) => (token.type === "period" ? { ...token, period: daysBefore(period) } : token));
  return [tokens, earlier].map((read) => withTokens(question, read));
}

/** As many days before, or the month before where a whole one is named. */
function daysBefore({ from = "", to = "" }: Period): Period {
  const [first, last] = [new Date(from), new Date(to)];
  const isMonth = first.getUTCDate() === 1 && last.getUTCDate() === 1;
  const begin = isMonth
    ? Date.UTC(first.getUTCFullYear(), first.getUTCMonth() - 1)
    : first.getTime() - (last.getTime() - first.getTime());
  return { from: new Date(begin).toISOString(), to: from };
}

/** A word for what is taken back before or after its apply. */
const isEither = (token: Token): boolean =>
  token.type === "sense" && token.senses.includes("rolled_back") && token.senses.includes("withdrawn");

/** The question with one word in one of its meanings, or without it. */
function meaning(question: Question, at: number, sense: Sense = "noise"): Question {
  return withTokens(
    question,
    question.tokens.map((token, place) =>
      token.type === "sense" && (place === at || (sense !== "noise" && isEither(token)))
        ? { ...token, senses: [sense] }
        : token,
    ),
  );
}
