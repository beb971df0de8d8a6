/** Whom a question names, in which role, and who of them is asked for together. */
import { sameName } from "../../governance/rules/names.ts";
import type { Role } from "../../pulse/query/row.ts";
import { type Deed, deedOf } from "./deeds.ts";
import type { Question } from "./read.ts";
import type { Token } from "./token.ts";

/** What somebody is to a change of which they did this; what is not here, the log alone says. */
const ROLE_OF: Readonly<Partial<Record<Deed, Role>>> = {
  proposed: "proposer",
  withdrawn: "proposer",
  approved: "approver",
  denied: "denier",
  revoked: "decider",
  decided: "decider",
};

/** Somebody whom a question names. */
export interface Person {
  name: string;
  role: Role;
  deed: Deed | undefined;
  /** The place of their name in the question. */
  place: number;
}

/** What stands between names of whom either is meant. */
const JOINS = /^(?:and|or|,|、|，|和|或|或者|与|及|以及|还有|跟)$/;
/** What only the log says who did. */
export const isOnHost = ({ deed }: Pick<Person, "deed">): boolean => deed === "applied" || deed === "rolled_back";
/** Each of them is meant, and not either. */
const EACH = /\b(?:both|each|together|jointly)\b|都|均|共同|一起/i;

/** People who are named one after the other, in one role, are asked for together: either of them. The others are left. */
export function together(
  { tokens, text }: Question,
  [first, ...rest]: readonly Person[],
): { first: (Omit<Person, "name"> & { name: string | readonly string[] }) | undefined; others: Person[] } {
  if (!first || (first.deed !== undefined && EACH.test(text))) return { first, others: rest };
  const names = [first.name];
  let { place } = first;
  for (const next of rest) {
    const between = tokens.slice(place + 1, next.place);
    const isJoined = between.every((token) => token.type === "sense" && JOINS.test(token.words));
    if (!isJoined || next.role !== first.role || isOnHost(next) !== isOnHost(first)) break;
    names.push(next.name);
    ({ place } = next);
  }
  const others = rest.slice(names.length - 1);
  return { first: names.length === 1 ? first : { ...first, name: names }, others };
}

/** Whom a question names, each in the role of what they are said to have done. */
export function peopleIn({ tokens }: Question, asker: string | null): Person[] {
  const found: Person[] = [];
  const isMe = (token: Token): boolean => token.type === "sense" && token.senses.includes("me");
  for (const [place, token] of tokens.entries()) {
    const name = isMe(token) ? asker : token.type === "name" && token.named.kind === "person" ? token.named.values : [];
    const possessive =
      token.type === "name" ? isProposers(tokens, place) : ["my", "mine", "我的"].includes(textOfToken(token));
    for (const one of [name ?? []].flat()) {
      const deed = possessive ? undefined : nearestDeed(tokens, place);
      const role = possessive ? "proposer" : ((deed && ROLE_OF[deed]) ?? "either");
      if (!found.some((other) => sameName(other.name) === sameName(one))) found.push({ name: one, role, deed, place });
    }
  }
  return found;
}

/** "Erin's proposals" are of whoever proposed them; "Erin's consent" is what Erin does. */
export function isProposers(tokens: readonly Token[], place: number): boolean {
  const token = tokens[place];
  const next = tokens[place + 1];
  return token?.type === "name" && token.possessive && !(next?.type === "sense" && OWN_DEED.test(next.words));
}
const OWN_DEED =
  /^(?:consents?|approvals?|sign-offs?|decisions?|denials?|rejections?|reviews?|deployments?|rollouts?|rollbacks?|desk|plate|court|inbox|同意|批准|审批|决定|复核)$/;

const textOfToken = ({ words }: Token): string => words;

/** What is said to have been done next to a place. */
function nearestDeed(tokens: readonly Token[], place: number): Deed | undefined {
  const deeds = tokens.flatMap((token, at) => {
    const deed = deedOf(token);
    return deed ? [{ deed, distance: Math.abs(at - place) }] : [];
  });
  deeds.sort((a, b) => a.distance - b.distance);
  return deeds[0]?.deed;
}
