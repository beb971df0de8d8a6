/** Rechecks an earlier breach when a process starts. */
import { entryKey, readHead } from "./chain.ts";
import { computeTreeHead } from "./checkpoint.ts";
import type { AuditDeps } from "./deps.ts";
import type { LostEnd } from "./integrity.ts";
import { noteLine } from "./note.ts";
import { LogBroken } from "./tree.ts";
import { verifyChain } from "./verify.ts";

/** Clears an earlier breach if the complete log is valid and continues the end that was known at the breach; else adopts it. */
export async function recheckBreach(deps: AuditDeps): Promise<void> {
  const { store, integrity, log } = deps;
  const stored = (await store.get("meta", "breach"))?.value;
  if (!stored || integrity.breach) return;
  const { first_invalid, reason, known } = stored;
  if ((await verifyChain(deps)).breach === undefined && (await hasKnownEnd(deps, known))) {
    log.info("the audit chain holds again", { first_invalid });
    await store.transact((tx) => tx.delete("meta", "breach"));
  } else integrity.breach ??= { first_invalid, reason };
}

/** Returns whether the log contains an end. One with neither hash nor root matches no log: its loss must be accepted. */
async function hasKnownEnd(deps: AuditDeps, known: LostEnd | null): Promise<boolean> {
  if (known === null || known.length === 0) return true;
  const { length, head, root } = known;
  if (root !== undefined) return continuesCheckpoint(deps, { length, root });
  return (await deps.store.get("audit", entryKey(length)))?.value.current_hash === head;
}

/** Returns whether the first `length` entries of the log have this Merkle root. */
async function continuesCheckpoint(
  deps: AuditDeps,
  { length, root }: { length: number; root: string },
): Promise<boolean> {
  const head = await readHead(deps.store);
  if (!head) return false;
  try {
    await computeTreeHead(deps, head, { origin: noteLine(head.origin), length, root });
    return true;
  } catch (error) {
    if (error instanceof LogBroken) return false;
    throw error;
  }
}
