/** The content of a change, and the digest by which consent is bound to it. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Change } from "./change.ts";

/** The fields that consent is bound to. */
// prettier-ignore
export const CONTENT_FIELDS = [
  "tenant_id", "kind", "target", "value", "summary", "rationale", "expected_delta_k", "affected_users", "reversible",
  "tier", "risk", "kpi", "proposer", "apply_when", "sets", "promotes", "stages",
] as const;

/** The part of a change that consent is given to. */
export type Content = Pick<Change, (typeof CONTENT_FIELDS)[number]>;

/** SHA-256 of the canonical JSON of the content: lower-case hex. An absent `value` is left out. */
export const contentDigest = (content: Content, sha256: Sha256): string => sha256(canonicalContent(content));

/**
 * Returns the RFC 8785 JSON of a content. Only `value`, `sets` and `stages` can be objects or lists. Without `sets` and `stages`,
 * `JSON.stringify` returns the same text, because it writes the fields in the order of its list.
 */
export function canonicalContent(content: Content): string {
  if (content.stages !== undefined || content.sets !== undefined) return canonicalJson(pickContent(content));
  const text = JSON.stringify(content, PLAIN_FIELDS);
  return content.value === undefined ? text : `${text.slice(0, -1)},"value":${canonicalJson(content.value)}}`;
}

/** Fields that are never objects or lists, in canonical order; `value` comes after all of them. */
const PLAIN_FIELDS = CONTENT_FIELDS.filter((field) => !["value", "sets", "stages"].includes(field)).sort();

/** Picks the content of a change: the fields that consent is bound to. */
export const pickContent = (change: Content): Content =>
  Object.fromEntries(CONTENT_FIELDS.flatMap((field) => (field in change ? [[field, change[field]]] : []))) as Content;
