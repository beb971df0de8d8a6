/** Reads `If-Match`, by which a caller states the revisions that it has seen. */
import type { ExpectedRevisions } from "../changes/caller.ts";

/**
 * Reads the revisions of `If-Match`; undefined if every revision is accepted. Weak tags count too, since a proxy that compresses
 * makes tags weak.
 */
export function readExpectedRevisions({ headers }: Request): ExpectedRevisions | undefined {
  const stated = headers.get("if-match");
  if (stated === null) return undefined;
  const tags = stated.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags.includes("*")) return undefined;
  const revisions = tags.flatMap((tag) => (/^"(?:0|[1-9]\d*)"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));
  return { revisions, stated };
}
