/** What an entry is about, as the outline of the log holds it. */
import type { Sought, SubjectOf } from "../audit/outline.ts";

/** The lowest bit of a subject tells of a minor change. */
const MINOR = 1;
const NAME = ~MINOR >>> 0;

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash & NAME) >>> 0;
};

/** Its change, or its type where it is about none; and whether it tells of a minor change. */
export const subjectOf: SubjectOf = ({ event_type, change_id, detail }) => {
  const subject = hashOf(change_id || event_type);
  return event_type === "change_proposed" && detail.includes('"tier":"minor"') ? (subject | MINOR) >>> 0 : subject;
};

/** The entries about a change, or those of a type that are about none. */
export const named = (name: string): Sought => ({ mask: NAME, bits: hashOf(name) });

/** The entries that tell of a minor change. */
export const minor: Sought = { mask: MINOR, bits: MINOR };
