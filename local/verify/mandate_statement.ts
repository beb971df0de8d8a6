/** Builds the statements that people sign for decisions on mandates. */
import { type JsonObject, isObject, isIntegerAtLeast } from "./json.ts";

/** The `decision` in the statement, by event type. */
export const MANDATE_DECISIONS: ReadonlyMap<string, string> = new Map([
  ["mandate_signed", "mandate"],
  ["mandate_narrowed", "mandate_narrow"],
  ["mandate_resumed", "mandate_resume"],
  ["mandate_ended", "mandate_revoke"],
]);

/**
 * Builds the statement of a decision on a mandate from its entry; `shared`: members of every statement. Undefined if the
 * entry lacks a revision or bounds.
 */
export function mandateStatement(shared: JsonObject, detail: JsonObject): string | undefined {
  const { mandate_id, revision, narrow, bounds, systems } = detail;
  if (shared["decision"] !== "mandate") {
    const isNarrowing = shared["decision"] === "mandate_narrow";
    if (!isIntegerAtLeast(revision, 1)) return undefined;
    // The statement names the revision before the decision; a resumption does not raise the revision.
    const decided = shared["decision"] === "mandate_resume" ? revision : revision - 1;
    return canonicalText({ ...shared, mandate_id, revision: decided, ...(isNarrowing && { narrow }) });
  }
  return isObject(bounds) ? canonicalText({ ...bounds, ...shared, mandate_id, systems }) : undefined;
}

/** Returns the RFC 8785 text of a value that was parsed from JSON; absent members are left out. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${members
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`)
    .join(",")}}`;
}
