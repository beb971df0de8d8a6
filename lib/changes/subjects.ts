/** Subjects of entries, as the index of the log stores them. */
import type { SubjectQuery, FindSubjects } from "../audit/log_segment.ts";
import { targetKey } from "./records.ts";
import { isMandateEvent } from "./rules/mandate_record.ts";
import { listRolledBackTargets } from "./rules/rolled_back_targets.ts";

/** The lowest bit of a subject tells of a minor change. */
const MINOR = 1;
const NAME = ~MINOR >>> 0;

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // 0 stands for no subject, and 1 for what is minor.
  return (hash & NAME) >>> 0 || 2;
};

/** Relation of an entry to a target: a change of it was proposed, it holds another change now, or its value was restored. */
export type OfTarget = "proposed" | "held" | "restored";

const OF_TARGET: Readonly<Record<string, OfTarget>> = {
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
  if (isMandateEvent(event_type)) return [hashOf(MANDATE.exec(detail)?.[1] ?? event_type)];
  const subject = hashOf(change_id || event_type);
  if (event_type === "consent_decision") {
    const mandate = BY_MANDATE.exec(detail)?.[1];
    return mandate === undefined ? [subject] : [subject, hashOf(mandate)];
  }
  const of = OF_TARGET[event_type];
  if (!of) return [subject];
  const first = of === "proposed" && detail.includes('"tier":"minor"') ? (subject | MINOR) >>> 0 : subject;
  const isFailed = event_type === "change_rollback_failed";
  if (detail.includes(SETS)) {
    return [first, ...listRolledBackTargets({ event_type, tenant, detail }).map((place) => placed(of, place))];
  }
  if (isFailed) return [first];
  const target = TARGET.exec(detail)?.[1];
  return [first, target === undefined ? 0 : placed(of, { target: JSON.parse(target) as string, tenant_id: tenant })];
};

const placed = (of: OfTarget, place: Parameters<typeof targetKey>[0]): number => hashOf(`${of}\n${targetKey(place)}`);

/** The entries about a change, or those of a type that are about none. */
export const named = (name: string): SubjectQuery => ({ column: 0, mask: NAME, bits: hashOf(name) });

/** The consents of a mandate, by the name under which it approves. */
export const mandateConsents = (name: string): SubjectQuery => ({ column: 1, mask: NAME, bits: hashOf(name) });

/** The entries that tell of a minor change. */
export const minor: SubjectQuery = { column: 0, mask: MINOR, bits: MINOR };

/** The entries that tell something of a target. */
export const onTarget = (of: OfTarget, place: Parameters<typeof targetKey>[0]): SubjectQuery => ({
  column: 1,
  mask: NAME,
  bits: placed(of, place),
});
