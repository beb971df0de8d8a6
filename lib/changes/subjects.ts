/** Subjects of entries, as the index of the log stores them. */
import type { SubjectQuery, FindSubjects } from "../audit/log_segment.ts";
import { formatTargetKey } from "./records.ts";
import { isMandateEvent } from "./rules/mandate_record.ts";
import { listRolledBackTargets } from "./rules/rolled_back_targets.ts";

/** The lowest bit of a subject tells of a minor change. */
const MINOR = 1;
const NAME = ~MINOR >>> 0;

const hashSubject = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // 0 stands for no subject, and 1 for what is minor.
  return (hash & NAME) >>> 0 || 2;
};

/** Relation of an entry to a target: a change of it was proposed, it holds another change now, or its value was restored. */
export type TargetRelation = "proposed" | "held" | "restored";

const TARGET_RELATIONS: Readonly<Record<string, TargetRelation>> = {
  change_proposed: "proposed",
  change_applied: "held",
  change_rolled_back: "held",
  change_rollback_failed: "held",
  value_restored: "restored",
};

/** The mandate of an entry about one, and of its consent to a change. */
const MANDATE = /"mandate_id":"([^"\\]+)"/;
const BY_MANDATE = /"approver":"(mandate:[^"\\]+)"/;

/** In the text of a detail; what stands in a text is escaped. */
const TARGET = /"target":("(?:[^"\\]|\\.)*")/;

/** Beginning of the targets of a plan in the text of a detail. */
const SETS = '"sets":[';

/** Its change, or its type where it is about none, and whether that is minor; and what it tells of which targets. */
export const findSubjects: FindSubjects = ({ event_type, change_id, tenant, detail }) => {
  if (isMandateEvent(event_type)) return [hashSubject(MANDATE.exec(detail)?.[1] ?? event_type)];
  const subject = hashSubject(change_id || event_type);
  if (event_type === "consent_decision") {
    const mandate = BY_MANDATE.exec(detail)?.[1];
    return mandate === undefined ? [subject] : [subject, hashSubject(mandate)];
  }
  const relation = TARGET_RELATIONS[event_type];
  if (!relation) return [subject];
  const first = relation === "proposed" && detail.includes('"tier":"minor"') ? (subject | MINOR) >>> 0 : subject;
  const isFailed = event_type === "change_rollback_failed";
  if (detail.includes(SETS)) {
    return [
      first,
      ...listRolledBackTargets({ event_type, tenant, detail }).map((target) => targetSubject(relation, target)),
    ];
  }
  if (isFailed) return [first];
  const target = TARGET.exec(detail)?.[1];
  return [
    first,
    target === undefined ? 0 : targetSubject(relation, { target: JSON.parse(target) as string, tenant_id: tenant }),
  ];
};

const targetSubject = (relation: TargetRelation, target: Parameters<typeof formatTargetKey>[0]): number =>
  hashSubject(`${relation}\n${formatTargetKey(target)}`);

/** The entries about a change, or those of a type that are about none. */
export const nameQuery = (name: string): SubjectQuery => ({ column: 0, mask: NAME, bits: hashSubject(name) });

/** The consents of a mandate, by the name under which it approves. */
export const mandateConsentQuery = (name: string): SubjectQuery => ({ column: 1, mask: NAME, bits: hashSubject(name) });

/** The entries that tell of a minor change. */
export const MINOR_QUERY: SubjectQuery = { column: 0, mask: MINOR, bits: MINOR };

/** The entries that tell something of a target. */
export const targetQuery = (relation: TargetRelation, target: Parameters<typeof formatTargetKey>[0]): SubjectQuery => ({
  column: 1,
  mask: NAME,
  bits: targetSubject(relation, target),
});
