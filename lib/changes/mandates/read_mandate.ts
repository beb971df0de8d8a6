/** Reads mandates from the log. The stored record of a signed mandate only says where its entries begin. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import type { Reads } from "../../store/store.ts";
import { AppError } from "../../kit/errors.ts";
import type { Evidence } from "../evidence.ts";
import { formatAgentKey } from "../records.ts";
import { parseDetail } from "../rules/event.ts";
import { foldMandate, type MandateDetail, type MandateEvent, type MandateRecord } from "../rules/mandate_record.ts";

/** Sources of a mandate. Without evidence, its entries are those that the record names. */
export interface MandateSources {
  tx: Pick<Reads, "get" | "getMany">;
  evidence?: Evidence | undefined;
}

/** Cache of parsed entries, since folding a mandate and judging its signatures read the same entries. */
const parsedEvents = new WeakMap<AuditEntry, MandateEvent>();

/** Parses an entry about a mandate. */
export function parseMandateEvent(entry: AuditEntry): MandateEvent {
  const cached = parsedEvents.get(entry);
  if (cached) return cached;
  const { id, timestamp, event_type, detail } = entry;
  const event = { id, timestamp, event_type, detail: parseDetail(detail) as unknown as MandateDetail };
  parsedEvents.set(entry, event);
  return event;
}

/**
 * Returns a mandate from its entries, at most up to the entry `until`, or the stored draft if it has no entries; undefined if there
 * is neither, or if the entries cannot be folded. `isNamed`: an entry or a person names the mandate, so the whole log is searched
 * if its record is missing.
 */
export async function readMandate(
  { tx, evidence }: MandateSources,
  mandateId: string,
  { until = Infinity, isNamed = false }: { until?: number | undefined; isNamed?: boolean } = {},
): Promise<MandateRecord | undefined> {
  const stored = (await tx.get("mandates", mandateId))?.value;
  const fold = (entries: readonly AuditEntry[]): MandateRecord | undefined =>
    foldMandate(entries.filter(({ id }) => id <= until).map(parseMandateEvent));
  let entries = await readStoredEntries({ tx, evidence }, mandateId, stored);
  // If the entries that the record points to cannot be folded, all entries of the log are read.
  if (evidence && (entries.length > 0 || isNamed) && !fold(entries))
    entries = await evidence.entriesAboutMandate(mandateId, 1);
  if (entries.length > 0) return fold(entries);
  return stored?.state === "draft" && stored.audit.length === 0 ? stored : undefined;
}

const readStoredEntries = (
  { tx, evidence }: MandateSources,
  mandateId: string,
  stored: MandateRecord | undefined,
): Promise<AuditEntry[]> =>
  evidence ? evidence.entriesAboutMandate(mandateId, stored?.audit[0]) : readEntries(tx, stored?.audit ?? []);

/** Reads the entries of a mandate that an entry names, oldest first. */
export async function readMandateEntries(
  { tx, evidence }: Required<MandateSources>,
  mandateId: string,
): Promise<AuditEntry[]> {
  const entries = await readStoredEntries({ tx, evidence }, mandateId, (await tx.get("mandates", mandateId))?.value);
  return foldMandate(entries.map(parseMandateEvent)) ? entries : evidence!.entriesAboutMandate(mandateId, 1);
}

async function readEntries(tx: Pick<Reads, "getMany">, ids: readonly number[]): Promise<AuditEntry[]> {
  const entries = await tx.getMany("audit", ids.map(entryKey));
  return entries.flatMap((entry) => (entry ? [entry.value] : []));
}

/** Returns a mandate. Errors: 404 `mandate_not_found`. */
export async function findMandate(sources: MandateSources, mandateId: string): Promise<MandateRecord> {
  const mandate = await readMandate(sources, mandateId, { isNamed: true });
  if (!mandate) throw createMandateNotFoundError(mandateId);
  return mandate;
}

/** Creates the error for an unknown mandate: 404 `mandate_not_found`. */
export const createMandateNotFoundError = (mandateId: string): AppError =>
  new AppError("mandate_not_found", `there is no mandate ${mandateId}`, { mandate_id: mandateId });

/** Maximum number of mandates of one agent that a proposal reads. */
const MAX_PER_AGENT = 100;

/** Lists the ids of signed mandates of an agent that have not ended, oldest first. */
export async function listSignedMandates(reads: Pick<Reads, "list">, agent: string): Promise<string[]> {
  const prefix = formatAgentKey(agent);
  const rows = await reads.list("mandates_by_agent", { prefix, limit: MAX_PER_AGENT, keysOnly: true });
  return rows.map(({ id }) => id.slice(prefix.length));
}
