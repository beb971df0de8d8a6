/** Formats trailers of the service's commits, by which it finds an attempt in the history of a branch. */
import type { Attempt } from "../../../lib/targets/port.ts";
import type { Repository } from "./repository.ts";

function listTrailers({ change_id, operation, attempt }: Attempt): string[] {
  for (const word of [change_id, operation, attempt])
    if (!/^[\w.:-]{1,200}$/.test(word)) throw new TypeError("an id of the change cannot stand in a trailer");
  return [`Countersign-Change: ${change_id}`, `Countersign-Operation: ${operation}`, `Countersign-Attempt: ${attempt}`];
}

/** Composes the message of a commit; `about` has line breaks only between its paragraphs. */
export const describeCommit = (about: string, attempt: Attempt): string =>
  `${about}\n\n${listTrailers(attempt).join("\n")}\n`;

/** Returns whether a commit of the attempt is in the history of `tip`, whatever dates the commits of others have. */
export async function hasAttempt(
  { output }: Repository,
  tip: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  // The service's commit has the date of its attempt. `--since` would end the search at any older one on top of it.
  const since = Math.floor(Date.parse(attempt.at) / 1000);
  const patterns = listTrailers(attempt).map((line) => `--grep=${line}`);
  const args = [
    "rev-list",
    "--max-count=1",
    `--since-as-filter=${since}`,
    "--fixed-strings",
    "--all-match",
    ...patterns,
    tip,
  ];
  return (await output(args, { signal })) !== "";
}
