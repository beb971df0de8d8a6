/** What a "not" makes of the word that it is said of, where the records have a word for that: what is not applied is ready. */
import type { Sense } from "./senses.ts";
import type { Token } from "./token.ts";

const TURNED: Readonly<Partial<Record<Sense, readonly Sense[]>>> = {
  met: ["missed", "regressed"],
  applied: ["ready"],
  reviewed: ["reviewed", "pending"],
  approved: ["pending"],
  decided: ["pending"],
  closed: ["open"],
};
/** Is so at any time; the others are so now, and of nobody's doing. */
const LASTING: Sense = "met";
/** "Not approved" is what was denied too; "not approved yet" is not. */
const OF_STATE: ReadonlySet<Sense> = new Set(["approved", "applied", "decided"]);
const STILL = /yet|still|so far|until now|还|尚|仍/;
/** So many words may stand between the two. */
const BETWEEN = 3;
/** They deny a thing and no deed: no change, without a KPI. */
const OF_THINGS: ReadonlySet<string> = new Set(["no", "without", "cannot", "can't", "无", "不是"]);

/** The words of a question, those that are negated in what that means. */
export function negated(tokens: readonly Token[]): Token[] {
  const isOfSome = tokens.some((token) =>
    token.type === "sense" ? token.senses.includes("me") : token.type === "period" || isPerson(token),
  );
  const isOfDays = tokens.some((token) => token.type === "period" && !token.isAhead);
  const isSaid = (is: (words: string, senses: readonly Sense[]) => boolean): boolean =>
    tokens.some((token) => token.type === "sense" && is(token.words, token.senses));
  const isStill = isSaid((words) => STILL.test(words));
  const isApproved = isSaid((_, senses) => senses.includes("approved"));
  const turned = (sense: Sense): readonly Sense[] | undefined => {
    if (sense === LASTING) return TURNED[sense];
    const isNow = isStill || !OF_STATE.has(sense) || (sense === "applied" && isApproved);
    return isOfSome || !isNow ? undefined : TURNED[sense];
  };
  const read = allowed(tokens, isOfDays);
  for (const [place, token] of tokens.entries()) {
    if (token.type !== "sense" || !token.senses.includes("not") || OF_THINGS.has(token.words)) continue;
    const behind = read.slice(place + 1, place + 2 + BETWEEN);
    const said = behind.findIndex((one) => one.type !== "sense" || one.senses.some((sense) => sense in TURNED));
    const next = behind[said];
    if (next?.type !== "sense" || !next.senses.some((sense) => turned(sense))) continue;
    read[place] = { ...token, senses: ["noise"] };
    read[place + 1 + said] = { ...next, senses: next.senses.flatMap((sense) => turned(sense) ?? [sense]) };
  }
  return read;
}

/** "What may I ship?" asks for what is ready. */
function allowed(tokens: readonly Token[], isOfDays: boolean): Token[] {
  const isIn = (token: Token | undefined, sense: Sense): boolean =>
    token?.type === "sense" && token.senses.includes(sense);
  return tokens.map((token, place) => {
    const before = tokens.slice(Math.max(0, place - 3), place);
    const may = before.findLastIndex((one) => isIn(one, "may"));
    const isAllowed =
      may !== -1 && before.slice(may + 1).every((one) => isIn(one, "noise") || isIn(one, "me")) && !isOfDays;
    return token.type === "sense" && isIn(token, "applied") && isAllowed ? { ...token, senses: ["ready"] } : token;
  });
}

const isPerson = (token: Token): boolean => token.type === "name" && token.named.kind === "person";
