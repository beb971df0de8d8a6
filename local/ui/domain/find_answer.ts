/** Describes queries, their answers and their faults; finds the queries named in a chat reply. */
import type { FindAnswer } from "../core/api_types.ts";
import { ServiceError } from "../core/api.ts";
import { endSentence, formatDuration } from "../core/format.ts";

/** Describes the durations of matching changes; undefined if none was measured. */
export const describeTimes = ({
  total,
  timed,
  median,
  max,
}: Pick<FindAnswer, "total" | "timed" | "median" | "max">): string | undefined =>
  median == null || max == null
    ? undefined
    : `Median ${describeDuration(median)}, longest ${describeDuration(max)}, over ${timed} of ${total}.`;

export const describeDuration = (seconds: number): string => formatDuration(seconds * 1000);

/** Returns the name by which a normalised query groups. */
export const parseGroup = (query: string): string | undefined => /(?:^|\s)group:(\S+)/.exec(query)?.[1];

/** Makes the last typed word match as a prefix. */
export const makePrefixQuery = (typed: string): string =>
  /(?:^|\s)[\p{L}\p{N}]{2,}$/u.test(typed) ? `${typed}*` : typed;

/** Explains why a query is invalid, in words of the console instead of the API; undefined for any other error. */
export function describeQueryFault(error: unknown): string | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const fault = error.body.fields?.find(({ field }) => field === "q");
  return fault && endSentence(`The query ${fault.message.replace("as person", "under “You”")}`);
}

/** Lists the queries in a chat reply, from lines such as `Query: is:pending – 3 changes.`, without "(every change)", the empty query. */
export const listNamedQueries = (reply: string): string[] => [
  ...new Set(
    [...reply.matchAll(/^Query: (.+) – .+$/gm)]
      .map(([, query]) => query!)
      .filter((query) => query !== "(every change)"),
  ),
];
