/** Reports a loss of log entries that the log's backup or the files of its store prove. */
import type { LogEnd } from "./log_index.ts";
import { listRecords } from "../store/pages.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import type { AuditEntry } from "./entry.ts";
import type { LostEnd } from "./integrity.ts";
import { reportBreach } from "./report_breach.ts";

const REMEDY =
  "restore what is missing, or record its loss with POST /api/product/audit/accept-loss; until then nothing is changed";

const PAGE_SIZE = 1000;

/**
 * Before the service starts to answer: reports a breach if the log does not contain the last entry of the backup that it was
 * restored from (it is shorter, or has another entry there), or if the newest file of its store is missing. An accepted loss is no
 * breach.
 */
export async function reportLoss(
  deps: Pick<AuditDeps, "store" | "integrity" | "log">,
  backup: LogEnd | undefined,
): Promise<void> {
  const { store, integrity } = deps;
  const lost = store.faults?.().lost;
  const head = (await readHead(store)) ?? (lost ? await rebuildHead(store) : undefined);
  if (integrity.breach || !head) return;
  const first_invalid = head.length + 1;
  if (backup && !(await isContinuation(deps, backup))) {
    const reason = `the log ends with entry ${head.length}, and backup.json states that entry ${backup.length} has the hash ${backup.head}: ${REMEDY}`;
    // A log that is as long as the backup or longer differs from it at the backup's last entry at the latest.
    return reportBreach(deps, { first_invalid: Math.min(first_invalid, backup.length), reason }, { known: backup });
  }
  // The files show a loss also after it was accepted. `lost.left.audit` entries remained, so the entry that accepted this loss has a
  // higher id. `head.loss.length` is the id of the last entry that accepted a loss.
  if (lost && (head.loss?.length ?? 0) <= (lost.left["audit"] ?? 0))
    return reportBreach(
      deps,
      { first_invalid, reason: `${lost.reason}: ${REMEDY}` },
      { known: { length: head.length, head: null } },
    );
}

/**
 * Rebuilds the head from the last remaining entry: the head's record was in the lost file, and a compaction may have removed its
 * earlier versions. Undefined if no entry remains.
 */
async function rebuildHead(store: AuditDeps["store"]): Promise<ChainHead | undefined> {
  let [last] = await store.list("audit", { limit: 1, reverse: true });
  if (!last) return undefined;
  const { origin, id: length, current_hash, timestamp: at } = last.value;
  const head: ChainHead = { origin, length, head: current_hash, at };
  while (last && !head.loss) {
    const { id, event_type, current_hash: hash } = last.value;
    if (event_type === "loss_accepted") head.loss = { length: id, head: hash };
    [last] = await store.list("audit", { limit: 1, reverse: true, after: last.id });
  }
  // Revision 0: no head may be stored yet.
  await store.transact((tx) => tx.put("meta", "chain", head, 0));
  return head;
}

/** Returns true if the log has the last entry of a backup, or if its loss was accepted. */
async function isContinuation({ store }: Pick<AuditDeps, "store">, backup: LogEnd): Promise<boolean> {
  if ((await store.get("audit", entryKey(backup.length)))?.value.current_hash === backup.head) return true;
  if (!(await readHead(store))!.loss) return false;
  for await (const { value } of listRecords(store, "audit", { limit: PAGE_SIZE, reverse: true }))
    if (value.event_type === "loss_accepted" && coversLoss(value, backup)) return true;
  return false;
}

/**
 * Returns true if an accepted loss covers the last entry of a backup: the lost log was longer, so its hash there is not known, or
 * ended with exactly that entry.
 */
function coversLoss({ detail }: AuditEntry, backup: LogEnd): boolean {
  const { known } = JSON.parse(detail) as { known: LostEnd };
  return known.length > backup.length || (known.length === backup.length && known.head === backup.head);
}
