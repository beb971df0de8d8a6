/** Restricts entries about mandates for agents with `read: own` to their own mandates. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Reads } from "../../store/store.ts";
import { isMandateEvent } from "../rules/mandate_record.ts";
import { normalizeName } from "../rules/names.ts";
import type { RestrictedReader } from "../rules/reader.ts";
import { parseMandateEvent } from "./read_mandate.ts";

/** Returns the ids of entries about mandates of other agents. */
export async function listOtherAgentsMandates(
  store: Pick<Reads, "getMany">,
  entries: readonly AuditEntry[],
  reader: RestrictedReader,
): Promise<ReadonlySet<number>> {
  const events = entries.filter(({ event_type }) => isMandateEvent(event_type)).map(parseMandateEvent);
  const mandates = await store.getMany(
    "mandates",
    events.map(({ detail }) => detail.mandate_id ?? ""),
  );
  // An entry whose mandate is not stored counts as another agent's.
  const agents = mandates.map((mandate) => normalizeName(mandate?.value.bounds.agent ?? ""));
  const ofOthers = events.filter((_, index) => agents[index] !== normalizeName(reader.name));
  return new Set(ofOthers.map(({ id }) => id));
}
