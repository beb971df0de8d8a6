/** Opens the product runtime on a store: verifies its identity and log, and resolves interrupted operations. */
import { createChain, readHead } from "../audit/chain.ts";
import type { CheckpointDeps } from "../audit/checkpoint.ts";
import { verifyAgainstAnchor, requireEmptyAnchor } from "../audit/verify_against_anchor.ts";
import { rememberEnd } from "../audit/known_end.ts";
import type { LogEnd } from "../audit/log_index.ts";
import { reportLoss } from "../audit/report_loss.ts";
import { recheckBreach } from "../audit/recheck_breach.ts";
import { verifyNewestEntries } from "../audit/verify.ts";
import { isSlowerThan } from "../kit/time_limit.ts";
import type { Reads } from "../store/store.ts";
import type { ChangesDeps } from "./deps.ts";
import { findIntentProblem } from "./intent_in_force.ts";
import { recoverAbandoned } from "./operations/recover.ts";
import type { Identity } from "./runtime.ts";
import { tryRecordIntent } from "./record_intent.ts";
import { findSubjects } from "./subjects.ts";

/** The store holds another product's state. */
export class IdentityMismatch extends Error {
  override readonly name = "IdentityMismatch";
}

/** Options of opening a store. */
export interface OpenOptions {
  /** No other process can be using the store: interrupted operations are resolved immediately. */
  exclusive?: boolean | undefined;
  /** Number of the newest entries that are verified before requests are served. */
  tail?: number | undefined;
  /** The end of the log as stated by the backup from which the store was restored. */
  backup?: LogEnd | undefined;
  /** For a long-lived process: records at the start that the intent is in force, and not with the first write under it. */
  recordIntent?: boolean | undefined;
  /** Rejects an intent if the log is under another one that is not older, since no write would be accepted. */
  refuseOutdated?: boolean | undefined;
}

/** The log is under another intent, which is not older than this instance's. */
export class IntentOutdated extends Error {
  override readonly name = "IntentOutdated";
}

/** Creates the identity of an instance of a product, with its defaults. */
export function makeIdentity(productId: string, nodeId: string, instanceId?: string): Identity {
  return {
    product_id: productId,
    instance_id: instanceId ?? `${productId}@${nodeId}`,
    node_id: nodeId,
    binding_mode: "one_product_one_svc",
  };
}

/** Longest time that a start waits for the resolution of interrupted operations. */
const MAX_RECOVERY_MS = 1000;

/** Returns true if the store has a log. A log without its head record is damaged, and a new one must not replace it. */
const hasLog = async (reads: Reads): Promise<boolean> =>
  (await readHead(reads)) !== undefined || (await reads.list("audit", { limit: 1 })).length > 0;

/**
 * Checks the identity, creates the log if there is none, verifies it against its anchor, verifies its newest entries, and resolves
 * interrupted operations, unless the log is broken. Errors: `IdentityMismatch`, `IntentOutdated`, and `LogMissing` for an empty
 * store whose anchor has a log.
 */
export async function openProduct(
  deps: ChangesDeps & CheckpointDeps,
  { exclusive = false, tail = 10_000, backup, recordIntent = false, refuseOutdated = false }: OpenOptions = {},
): Promise<void> {
  const { product } = deps;
  if (!product) return;
  if (deps.anchor && !(await hasLog(deps.store))) await requireEmptyAnchor(deps);
  const wasOpened = await deps.store.transact(async (tx) => {
    const stored = (await tx.get("meta", "identity"))?.value;
    if (stored && stored.product_id !== product.identity.product_id)
      throw new IdentityMismatch(
        `the state belongs to product ${JSON.stringify(stored.product_id)}, the intent to ${JSON.stringify(product.identity.product_id)}: product_id must match`,
      );
    if (JSON.stringify(stored) !== JSON.stringify(product.identity)) tx.put("meta", "identity", product.identity);
    const hasExistingLog = await hasLog(tx);
    if (!hasExistingLog) createChain(tx, product.identity.product_id, deps, deps.clock.now());
    return hasExistingLog;
  });
  if (wasOpened) await reportLoss(deps, backup);
  const outdated = await findIntentProblem(deps.store, product);
  if (outdated !== undefined && refuseOutdated) throw new IntentOutdated(outdated);
  if (wasOpened) await verifyAgainstAnchor(deps);
  if (!deps.integrity.breach) await verifyNewestEntries(deps, { count: tail, findSubjects });
  const head = await readHead(deps.store);
  if (head) rememberEnd(deps.integrity, head);
  await recheckBreach(deps);
  if (deps.integrity.breach) return;
  if (recordIntent) await tryRecordIntent(deps);
  const recovery = recoverAbandoned(deps, exclusive);
  if (!(await isSlowerThan(recovery, MAX_RECOVERY_MS))) return;
  deps.log.warn("interrupted operations are resolved while requests are served: a target system is slow to answer");
  recovery.catch((error: unknown) =>
    deps.log.error("interrupted operations could not be resolved; the next cycle tries again", {
      error: String(error),
    }),
  );
}
