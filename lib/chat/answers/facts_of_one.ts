/** What is asked after of one change, each fact in a line before the rest of it. */
import { type Entry } from "../../follow/entries.ts";
import type { Change } from "../../governance/rules/change.ts";
import { SPANS } from "../question/measure.ts";
import type { Question } from "../question/read.ts";
import type { Say } from "../say/say.ts";
import { spanOf, TRIED } from "./measures.ts";

/** A change with what the log tells of it. */
interface OfOne {
  change: Change;
  entries: readonly Entry[];
  now: number;
  say: Say;
}

/** A fact, when it is asked for, and its line. */
interface Fact {
  /** Beside each change of a list it says nothing. */
  isOfOne?: true;
  isAsked(question: Question): boolean;
  line(of: OfOne): string;
}

const FACTS: readonly Fact[] = [
  {
    isAsked: ({ has }) => has("reach") && has("person", "how_many", "tenant"),
    line: ({ change, say }) => say.usersOf(change.affected_users),
  },
  {
    isAsked: ({ has }) => has("duration"),
    line: ({ change, now, say }) =>
      say.spansOf(
        SPANS.flatMap((span) => {
          const ms = spanOf(span, change, now);
          return ms === null ? [] : [{ span, ms }];
        }),
        change,
      ),
  },
  {
    isAsked: ({ has }) => has("attempts"),
    line: ({ entries, say }) =>
      (["apply", "rollback"] as const)
        .map((operation) => {
          const [worked, failed] = TRIED[operation].map(
            (type) => entries.filter(({ event_type }) => event_type === type).length,
          );
          return worked! + failed! > 0 || operation === "apply"
            ? say.attemptsOf(operation, worked! + failed!, failed!)
            : "";
        })
        .filter(Boolean)
        .join(" "),
  },
  {
    isOfOne: true,
    isAsked: ({ has }) => has("reversible", "irreversible"),
    line: ({ change, say }) =>
      say.reversibleOf(change.unstated?.includes("reversible") ? undefined : change.reversible),
  },
  {
    isOfOne: true,
    isAsked: ({ has }) => has("reviewed"),
    line: ({ change: { review }, say }) => (review ? say.reviewTime(review) : ""),
  },
  {
    isOfOne: true,
    isAsked: ({ has }) => has("how_many") && has("approved", "needed") && !has("reach", "duration", "attempts"),
    line: ({ change, say }) => say.consentsOf(change),
  },
];

/** The lines of what a question asks after; of one change, or of each in a list. */
export const factsAsked = (question: Question, of: OfOne, isList = false): string[] =>
  FACTS.flatMap((fact) => (fact.isAsked(question) && !(isList && fact.isOfOne) ? [fact.line(of)] : []));
