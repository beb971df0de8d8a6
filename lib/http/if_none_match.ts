/** Reads `If-None-Match`, and answers that the copy of the caller is current. */
import { type Answer, textAnswer } from "./answer.ts";

/** Returns a predicate for ETags that the caller has, by `If-None-Match`; undefined if it sends none, or `*`. */
export function parseIfNoneMatch(request: Request): ((tag: string) => boolean) | undefined {
  const header = request.headers.get("if-none-match")?.trim();
  if (!header || header === "*") return undefined;
  // A proxy that compresses makes a tag weak.
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return (tag) => tags.includes(tag);
}

/** 304: the caller's copy is current. */
export const notModified = (tag: string): Answer => textAnswer("", 304, { etag: tag });
