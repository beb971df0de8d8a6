/** Changes whose stored record is not what the log tells: the growth log, and so notifications, tell of each episode once. */
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
 * Leaves one notice for all that were found since the last. A process that was just started knows of none yet: an earlier
 * report is forgotten only when its record matches again, not when the process does not know it.
 */
export async function noticeMismatches(deps: ChangesDeps): Promise<void> {
  const { store, clock } = deps;
  const known = listKnownMismatches(deps.integrity);
  const reported = (await store.get("meta", "mismatches"))?.value.told ?? [];
  const unknown = reported.filter((id) => !known.has(id)).slice(0, MAX_RECHECKED);
  const repaired = new Set(unknown.length === 0 ? [] : await listRepaired(deps, unknown));
  if (repaired.size === 0 && [...known.keys()].every((id) => reported.includes(id))) return;
  await store.transact(async (tx) => {
    const before = (await tx.get("meta", "mismatches"))?.value.told ?? [];
    const fresh = [...known].filter(([id]) => !before.includes(id));
    const after = [...before.filter((id) => !repaired.has(id)), ...fresh.map(([id]) => id)];
    tx.put("meta", "mismatches", { told: after });
    if (fresh.length > 0) await addNotice(deps, tx, createNotice(new Map(fresh), clock.now()));
  });
}

function createNotice(found: Mismatches, now: number) {
  const of = (id: string): string => `${label(id)} (${found.get(id)!.join(", ")})`;
  const [first, ...others] = [...found.keys()];
  const at = new Date(now).toISOString();
  const kind = "evidence_mismatch";
  if (others.length === 0) {
    const title = `The stored record of ${label(first!)} is not what the audit log tells`;
    return { at, kind, title, detail: `It differs in ${found.get(first!)!.join(", ")}.`, ref: first! };
  }
  const named = [...found.keys()].slice(0, MAX_NAMED).map(of).join("; ");
  const more = found.size > MAX_NAMED ? `; and ${found.size - MAX_NAMED} more` : "";
  const title = `The stored records of ${found.size} changes are not what the audit log tells`;
  return { at, kind, title, detail: `${named}${more}.` };
}
