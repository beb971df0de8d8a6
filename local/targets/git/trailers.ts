/** Trailers of the commits that the service makes: by them an attempt is found again in the branch's history. */
import type { Attempt } from "../../../lib/targets/port.ts";
import type { Repository } from "./repository.ts";

/** Clocks of those who commit may be this far behind ours. */
const MAX_SKEW_MS = 24 * 60 * 60_000;

function listTrailers({ change_id, operation, attempt }: Attempt): string[] {
  for (const word of [change_id, operation, attempt])
    if (!/^[\w.:-]{1,200}$/.test(word)) throw new TypeError("an id of the change cannot stand in a trailer");
  return [`Countersign-Change: ${change_id}`, `Countersign-Operation: ${operation}`, `Countersign-Attempt: ${attempt}`];
}

/** Composes the message of a commit; `about` has no line breaks but those between its paragraphs. */
export const describeCommit = (about: string, attempt: Attempt): string =>
  `${about}\n\n${listTrailers(attempt).join("\n")}\n`;

/** Returns whether a commit of the attempt is in the history of `tip`. */
export async function hasAttempt(
  { output }: Repository,
  tip: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  const since = Math.floor((Date.parse(attempt.at) - MAX_SKEW_MS) / 1000);
  const patterns = listTrailers(attempt).map((line) => `--grep=${line}`);
  const args = ["rev-list", "--max-count=1", `--since=${since}`, "--fixed-strings", "--all-match", ...patterns, tip];
  return (await output(args, { signal })) !== "";
}
