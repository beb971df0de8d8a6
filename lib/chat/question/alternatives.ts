/** A question that asks for one thing or another, as a question for each. */
import { type Deed, deedOf } from "./deeds.ts";
import { type Question, withTokens } from "./read.ts";
import type { Sense } from "./senses.ts";
import type { Token } from "./token.ts";

/** How what was never applied ends; of these any is asked for together. */
const ENDS: ReadonlySet<Deed> = new Set(["denied", "expired", "lapsed", "withdrawn", "revoked"]);

/** The questions that are asked: itself where it asks for no alternatives. */
export function alternativesOf(question: Question): Question[] {
  const { tokens } = question;
  const pulled = tokens.findIndex(isEither);
  if (pulled !== -1) {
    // What was live can only have been rolled back.
    const meant: readonly Deed[] = question.has("applied", "live") ? ["rolled_back"] : ["rolled_back", "withdrawn"];
    return meant.map((deed) => meaning(question, pulled, deed));
  }
  const or = tokens.findIndex((token, place) => {
    if (!/^(?:or|或|或者|还是)$/.test(token.words)) return false;
    const [before, behind] = [deedOf(tokens[place - 1]), deedOf(tokens[place + 1])];
    return before !== undefined && behind !== undefined && before !== behind && !(ENDS.has(before) && ENDS.has(behind));
  });
  if (or === -1) return [question];
  return [or + 1, or - 1].map((left) => meaning(question, left));
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
