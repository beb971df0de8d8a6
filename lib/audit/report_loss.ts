/** A log that lacks entries which a backup of it, or its store's files, show that it had. */
import type { End } from "./outline.ts";
import { entryKey, readHead } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import { reportBreach } from "./report_breach.ts";

/** The hash of a last entry that nobody knows. */
const UNKNOWN_HEAD = "0".repeat(64);
const WAY_OUT =
  "restore what is missing, or record its loss with POST /api/product/audit/accept-loss; until then nothing is changed";

/**
 * At the start, before anything is served: reports a breach where the log is shorter than the backup states from which it was
 * restored, or its store lacks its newest file. A loss that was accepted since is no breach.
 */
export async function reportLoss(
  deps: Pick<AuditDeps, "store" | "integrity" | "log">,
  backup: End | undefined,
): Promise<void> {
  const { store, integrity } = deps;
  const head = await readHead(store);
  if (integrity.breach || !head) return;
  const lost = store.faults?.().lost;
  const first_invalid = head.length + 1;
  if (backup && !(await continues(deps, backup))) {
    const reason = `the log ends with entry ${head.length}, and backup.json states that entry ${backup.length} has the hash ${backup.head}: ${WAY_OUT}`;
    return reportBreach(deps, { first_invalid: Math.min(first_invalid, backup.length), reason }, backup);
  }
  if (lost)
    return reportBreach(
      deps,
      { first_invalid, reason: `${lost}: ${WAY_OUT}` },
      { length: first_invalid, head: UNKNOWN_HEAD },
    );
}

/** Whether the log has an entry as a backup states, or lost it by an accepted loss. */
async function continues({ store }: Pick<AuditDeps, "store">, { length, head }: End): Promise<boolean> {
  if ((await store.get("audit", entryKey(length)))?.value.current_hash === head) return true;
  const { loss } = (await readHead(store))!;
  const accepted = loss && (await store.get("audit", entryKey(loss.length)))?.value;
  if (accepted?.event_type !== "loss_accepted") return false;
  return (JSON.parse(accepted.detail) as { length: number }).length < length;
}
