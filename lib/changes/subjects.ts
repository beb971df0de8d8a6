/**
 * Subjects of entries (changes, targets, mandates) as hashes, and queries for them in the index of the log. Column 0 of the index
 * has the first subject of an entry, column 1 its further ones.
 */
import type { SubjectQuery, FindSubjects } from "../audit/log_segment.ts";
import { formatTargetKey } from "./records.ts";
import { isMandateEvent } from "./rules/mandate_record.ts";
import { listRolledBackTargets } from "./rules/rolled_back_targets.ts";

/** The lowest bit of a subject marks a minor change; the other bits are the hash. */
const MINOR_BIT = 1;
const HASH_BITS = ~MINOR_BIT >>> 0;

/** FNV-1a with 32 bits. */
const hashSubject = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // 0 means no subject, and the lowest bit marks a minor change.
  return (hash & HASH_BITS) >>> 0 || 2;
};

/** Relation of an entry to a target: a change of it is proposed; is applied or rolled back (`held`); or has its value restored. */
export type TargetRelation = "proposed" | "held" | "restored";

const TARGET_RELATIONS: Readonly<Record<string, TargetRelation>> = {
  change_proposed: "proposed",
  change_applied: "held",
  change_rolled_back: "held",
  change_rollback_failed: "held",
  value_restored: "restored",
};

/** The mandate in an entry about a mandate, and in the consent of a mandate to a change. */
const MANDATE = /"mandate_id":"([^"\\]+)"/;
const BY_MANDATE = /"approver":"(mandate:[^"\\]+)"/;

/** The target in the JSON text of a detail. A quotation mark within a value is escaped, so only a member matches. */
const TARGET = /"target":("(?:[^"\\]|\\.)*")/;

/** Beginning of a plan's targets in the JSON text of a detail. */
const SETS = '"sets":[';

/**
 * Lists the subjects of an entry: its change, marked in the proposal of a minor change, or its type if it names no change; then the
 * mandate that consents, or its targets. An entry about a mandate has only the mandate.
 */
export const findSubjects: FindSubjects = ({ event_type, change_id, tenant, detail }) => {
  if (isMandateEvent(event_type)) return [hashSubject(MANDATE.exec(detail)?.[1] ?? event_type)];
  const subject = hashSubject(change_id || event_type);
  if (event_type === "consent_decision") {
    const mandate = BY_MANDATE.exec(detail)?.[1];
    return mandate === undefined ? [subject] : [subject, hashSubject(mandate)];
  }
  const relation = TARGET_RELATIONS[event_type];
  if (!relation) return [subject];
  const first = relation === "proposed" && detail.includes('"tier":"minor"') ? (subject | MINOR_BIT) >>> 0 : subject;
  if (detail.includes(SETS)) {
    // All targets of the plan; after a failed rollback, those that it rolled back.
    return [
      first,
      ...listRolledBackTargets({ event_type, tenant, detail }).map((target) => targetSubject(relation, target)),
    ];
  }
  // A failed rollback that is not of a plan has restored no target.
  if (event_type === "change_rollback_failed") return [first];
  const target = TARGET.exec(detail)?.[1];
  return [
    first,
    target === undefined ? 0 : targetSubject(relation, { target: JSON.parse(target) as string, tenant_id: tenant }),
  ];
};

const targetSubject = (relation: TargetRelation, target: Parameters<typeof formatTargetKey>[0]): number =>
  hashSubject(`${relation}\n${formatTargetKey(target)}`);

/** Query for the entries about a change, or for the entries of a type that names no change. */
export const nameQuery = (name: string): SubjectQuery => ({ column: 0, mask: HASH_BITS, bits: hashSubject(name) });

/** Query for the consents of a mandate, by the name under which it approves. */
export const mandateConsentQuery = (name: string): SubjectQuery => ({
  column: 1,
  mask: HASH_BITS,
  bits: hashSubject(name),
});

/** Query for the proposals of minor changes. */
export const MINOR_QUERY: SubjectQuery = { column: 0, mask: MINOR_BIT, bits: MINOR_BIT };

/** Query for the entries with a relation to a target. */
export const targetQuery = (relation: TargetRelation, target: Parameters<typeof formatTargetKey>[0]): SubjectQuery => ({
  column: 1,
  mask: HASH_BITS,
  bits: targetSubject(relation, target),
});
