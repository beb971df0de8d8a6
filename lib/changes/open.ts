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
  /** The end of the log that the backup states from which the store was restored. */
  backup?: LogEnd | undefined;
  /** Records immediately that the intent is in force, not with the first write under it: for a process that lives long. */
  recordIntent?: boolean | undefined;
  /** Rejects an intent that is older than the log's, under which no write would be accepted. */
  refuseOutdated?: boolean | undefined;
}

/** The log is under an intent that is not older than this instance's. */
export class IntentOutdated extends Error {
  override readonly name = "IntentOutdated";
}

/** The identity of an instance of a product, with its defaults. */
export function makeIdentity(productId: string, nodeId: string, instanceId?: string): Identity {
  return {
    product_id: productId,
    instance_id: instanceId ?? `${productId}@${nodeId}`,
    node_id: nodeId,
    binding_mode: "one_product_one_svc",
  };
}

/** How long a start waits for target systems to say how interrupted operations ended. */
const MAX_RECOVERY_MS = 1000;

/** Returns true if the store has a log. A log without its head record is damaged, and a new one must not replace it. */
const hasLog = async (reads: Reads): Promise<boolean> =>
  (await readHead(reads)) !== undefined || (await reads.list("audit", { limit: 1 })).length > 0;

/**
 * Checks the identity, makes the chain once, holds it against its anchor, checks its tail, and settles what a crash
 * interrupted: nothing goes on from a log that was set back. Errors: `IdentityMismatch`, `IntentOutdated`, and `LogMissing`
 * for an empty store whose anchor keeps a log.
 */
export async function openProduct(
  deps: ChangesDeps & CheckpointDeps,
  { exclusive = false, tail = 10_000, backup, recordIntent = false, refuseOutdated = false }: OpenOptions = {},
): Promise<void> {
  const { product } = deps;
  if (!product) return;
  if (deps.anchor && !(await hasLog(deps.store))) await requireEmptyAnchor(deps);
  const isKnown = await deps.store.transact(async (tx) => {
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
  if (isKnown) await reportLoss(deps, backup);
  const outdated = await findIntentProblem(deps.store, product);
  if (outdated !== undefined && refuseOutdated) throw new IntentOutdated(outdated);
  if (isKnown) await verifyAgainstAnchor(deps);
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
