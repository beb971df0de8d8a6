import { AppError } from "../kit/errors.ts";
import { etag } from "./answer.ts";

/**
 * 412 `version_mismatch` unless `If-Match` is absent, `*`, or names the record's revision. A proxy that compresses makes a tag
 * weak; a revision is the same in either form.
 */
export function requireMatch(request: Request, revision: number): void {
  const header = request.headers.get("if-match");
  if (header === null) return;
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags.includes("*") || tags.includes(etag(revision))) return;
  throw new AppError(
    "version_mismatch",
    `the change is at revision ${revision} now, not at ${header}; read it again before deciding`,
    { current_revision: revision },
    { etag: etag(revision) },
  );
}
