/** What a kind of question is, and what kinds ask of a question. */
import type { NameKind } from "../question/names.ts";
import type { Sense } from "../question/senses.ts";
import type { Answer, Asking } from "./asking.ts";

/** A kind of question. Where nothing answers it after all, the next that fits is tried. */
export interface Kind {
  name: string;
  /** What it tells of beside what the query says. */
  tells?: readonly Sense[];
  /** What a question may name, and this is not about. */
  passes?: readonly (NameKind | "period")[];
  /** It tells of days that are to come. */
  isOfAhead?: true;
  /** It asks for all changes, or the newest of all. */
  isBroad?: true;
  fits(asking: Asking): boolean;
  answer(asking: Asking): Promise<Answer | undefined>;
}

/** Whether a question has any of these senses. */
export const has =
  (...senses: Sense[]) =>
  ({ question }: Asking): boolean =>
    question.has(...senses);

/** Whoever is named, or asks. */
export function peopleIn({ question, asker }: Asking): string[] {
  const named = question.named("person");
  return named.length === 0 && question.has("me") && asker !== null ? [asker] : named;
}

/** Whether somebody is named, or asks of themselves. */
export const isOfSomebody = (asking: Asking): boolean => peopleIn(asking).length > 0;

/** How a promise may have come out. */
export const VERDICTS = ["met", "missed", "regressed", "inconclusive", "early"] as const;

/** For whom a change waits is asked of the change that is named, however it stands. */
export function withoutState({ plan }: Asking, keep?: "days"): Asking["plan"] {
  const { period, person: _, resolution: __, ...filter } = plan.filter;
  return { ...plan, filter: { ...filter, ...(keep && { period }) } };
}
