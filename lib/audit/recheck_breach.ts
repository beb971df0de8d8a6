/** Rechecks an earlier breach when a process starts. */
import { entryKey } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import { verifyChain } from "./verify.ts";

/** Clears an earlier breach if the complete log is valid and continues the end that was known at the breach; else adopts it. */
export async function recheckBreach(deps: AuditDeps): Promise<void> {
  const { store, integrity, log } = deps;
  const stored = (await store.get("meta", "breach"))?.value;
  if (!stored || integrity.breach) return;
  const { first_invalid, reason, known } = stored;
  // An end without a known hash (null or empty) matches no entry: its loss must be accepted.
  const hasKnownEnd = async (): Promise<boolean> => {
    if (known === null || known.length === 0) return true;
    return (await store.get("audit", entryKey(known.length)))?.value.current_hash === known.head;
  };
  if ((await verifyChain(deps)).breach === undefined && (await hasKnownEnd())) {
    log.info("the audit chain holds again", { first_invalid });
    await store.transact((tx) => tx.delete("meta", "breach"));
  } else integrity.breach ??= { first_invalid, reason };
}
