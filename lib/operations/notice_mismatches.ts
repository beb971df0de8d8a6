/** Adds a notice, and so a notification, for changes whose stored records do not match the log, once for each episode. */
import { addNotice } from "../projections/activity_log.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import type { Mismatches } from "../changes/ledger/scan_records.ts";
import { listRepaired, listKnownMismatches } from "../changes/integrity_scan.ts";
import { label } from "../kit/quote.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** The changes that were reported, until their records match again. */
    mismatches: { told: readonly string[] };
  }
}

const MAX_NAMED = 3;
/** Number of changes checked again in a cycle. */
const MAX_RECHECKED = 100;

/**
 * Adds one notice for all mismatches since the last. A process that has just started knows none yet, so an earlier report is
 * dropped only when its record is verified to match again.
 */
export async function noticeMismatches(deps: ChangesDeps): Promise<void> {
  const { store, clock } = deps;
  const known = listKnownMismatches(deps.integrity);
  const reported = (await store.get("meta", "mismatches"))?.value.told ?? [];
  const onlyReported = reported.filter((id) => !known.has(id)).slice(0, MAX_RECHECKED);
  const repaired = new Set(onlyReported.length === 0 ? [] : await listRepaired(deps, onlyReported));
  if (repaired.size === 0 && [...known.keys()].every((id) => reported.includes(id))) return;
  await store.transact(async (tx) => {
    const before = (await tx.get("meta", "mismatches"))?.value.told ?? [];
    const unreported = [...known].filter(([id]) => !before.includes(id));
    const after = [...before.filter((id) => !repaired.has(id)), ...unreported.map(([id]) => id)];
    tx.put("meta", "mismatches", { told: after });
    if (unreported.length > 0) await addNotice(deps, tx, createNotice(new Map(unreported), clock.now()));
  });
}

function createNotice(mismatches: Mismatches, now: number) {
  const describeOne = (id: string): string => `${label(id)} (${mismatches.get(id)!.join(", ")})`;
  const [first, ...others] = [...mismatches.keys()];
  const at = new Date(now).toISOString();
  const kind = "evidence_mismatch";
  if (others.length === 0) {
    const title = `The stored record of ${label(first!)} does not match the audit log`;
    return { at, kind, title, detail: `It differs in ${mismatches.get(first!)!.join(", ")}.`, ref: first! };
  }
  const descriptions = [...mismatches.keys()].slice(0, MAX_NAMED).map(describeOne).join("; ");
  const more = mismatches.size > MAX_NAMED ? `; and ${mismatches.size - MAX_NAMED} more` : "";
  const title = `The stored records of ${mismatches.size} changes do not match the audit log`;
  return { at, kind, title, detail: `${descriptions}${more}.` };
}
