/** Counts, from the log alone, the changes that a mandate approved and that are neither applied nor denied. */
import type { Evidence } from "../evidence.ts";
import { foldEntries } from "../ledger/verify_record.ts";
import { isOpenChange } from "../rules/current_state.ts";
import { mandateApproverName } from "../rules/mandate.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";

/** Changes that may have been open at the durable entry `upTo`. A change that is not open any more never opens again. */
interface OpenCount {
  upTo: number;
  /** By change, the entry of the mandate's consent. */
  open: ReadonlyMap<string, number>;
}

/** Cached counts by log index and mandate, so that each consent is read once. */
const cachedCounts = new WeakMap<Evidence["logIndex"], Map<string, OpenCount>>();

/** Counts the changes of a mandate that are open. */
export async function countOpen(evidence: Evidence, { mandate_id, audit }: MandateRecord): Promise<number> {
  const [first] = audit;
  if (first === undefined) return 0;
  const { logIndex } = evidence;
  const countByMandate = cachedCounts.get(logIndex) ?? new Map<string, OpenCount>();
  cachedCounts.set(logIndex, countByMandate);
  const cached = countByMandate.get(mandate_id) ?? { upTo: first, open: new Map() };
  const durable = Math.min(evidence.length, logIndex.durable.length);
  const candidates = new Map(cached.open);
  for (const { id, change_id } of await evidence.consentsOfMandate(mandateApproverName(mandate_id), cached.upTo + 1))
    candidates.set(change_id, id);
  const ids = [...candidates.keys()];
  const lastEntryIds = await evidence.lastEntryIds(ids);
  /** Changes that the next count must look at again: those that may be open at the durable entry. */
  const toCountAgain = new Map<string, number>();
  let open = 0;
  for (const [index, changeId] of ids.entries()) {
    const consent = candidates.get(changeId)!;
    const lastEntryId = lastEntryIds[index]!;
    const isOpen = lastEntryId === consent || (await isStillOpen(evidence, changeId, first));
    if (isOpen) open++;
    // The entry that closed a change may lie after the durable part and still be lost, so the change is kept.
    if (consent <= durable && (isOpen || lastEntryId > durable)) toCountAgain.set(changeId, consent);
  }
  // Entries after the durable part may still be lost, so the cache ends with it.
  if (cached.upTo <= durable) countByMandate.set(mandate_id, { upTo: durable, open: toCountAgain });
  return open;
}

/**
 * Returns true if a change is open by its entries, all of which come after its mandate's first. A change whose entries cannot be
 * folded counts as open, since a limit must not be exceeded.
 */
async function isStillOpen(evidence: Evidence, changeId: string, first: number): Promise<boolean> {
  const state = foldEntries(await evidence.entriesAbout(changeId, first));
  return state === undefined || isOpenChange(state.change.status);
}
