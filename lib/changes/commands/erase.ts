/** Erases the content of a change: its entry and the erasure are one transaction; copies are removed after it. */
import { entryKey } from "../../audit/chain.ts";
import { type ServiceActionInput, requireNamedActor } from "../service_action.ts";
import { type Caller, requireRevision } from "../caller.ts";
import { createInProgressError, readLease } from "../operations/lease.ts";
import { resolveActor, verifyPresentedProof } from "../proof_input.ts";
import type { ReplayedReply } from "../replies.ts";
import { UNERASED_DATA } from "../rules/erasure.ts";
import { parseDetail } from "../rules/event.ts";
import { type CommandResult, runTransaction } from "../transaction.ts";

declare module "../../store/store.ts" {
  interface Meta {
    /** The newest entry that erased a content. */
    erased: { entry: number };
    /** When the store last removed copies of deleted records; milliseconds since the epoch. */
    expunged: { at: number };
  }
  interface Collections {
    /** Changes with copies of their erased content that may remain. */
    erasures_due: ErasureDue;
  }
}

/** Copies of an erased content that are still to be removed. */
export interface ErasureDue {
  entry: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** The chat message that asked a model for the change. */
  message_id?: string | undefined;
  /** Number of scans for copies. */
  looked: number;
  /** True while the store may have copies of the deleted records. */
  kept: boolean;
}

/** Maximum time from the erasure until the last copy is removed. */
const REMOVAL_LIMIT_MS = 24 * 3600 * 1000;

/** The change, the caller and the reason. */
export interface EraseInput extends Omit<ServiceActionInput, "until"> {
  change_id: string;
}

/** A recorded erasure. */
export interface ErasureResult extends CommandResult {
  /** When the last copy is gone at the latest. */
  gone_by: string;
  /** Data that remains, in sentences. */
  stays: readonly string[];
}

/**
 * Erases the content of a change. Errors: 404 `change_not_found`, 400 `illegal_transition`, 409 `content_needed`,
 * `operation_in_progress`.
 */
export async function eraseContent(caller: Caller, input: EraseInput): Promise<ErasureResult | ReplayedReply> {
  const { change_id, note = "", proof, at: signedAt } = input;
  const result = await runTransaction(caller, async (transaction) => {
    const { tx, at, now } = transaction;
    const before = await transaction.change(change_id);
    const { change } = before;
    const claimed = requireNamedActor(caller, "erase", input.actor);
    const { actor: name } = claimed;
    const statementFacts = { decision: "erase", actor: name, note, change_id, digest: change.digest } as const;
    const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at: signedAt });
    if (await readLease(tx, change)) throw createInProgressError(change_id);
    requireRevision(caller, change.revision);
    const target_owner = await transaction.ledger.targetOwner(change);
    const command = { type: "erase", name, note, target_owner, signature } as const;
    const recorded = transaction.execute(before, command, resolveActor(name, signature, claimed));
    const { value: entry } = recorded.entry;
    // A proposal that a model drafted names the chat message that asked for it, which is removed too.
    const proposal = (await tx.get("audit", entryKey(before.audit[0]!)))?.value;
    const { message_id } = parseDetail(proposal?.detail ?? "");
    tx.put("erasures_due", change_id, { entry: entry.id, at: now, message_id, looked: 0, kept: true });
    tx.put("meta", "erased", { entry: entry.id });
    const gone_by = new Date(Date.parse(at) + REMOVAL_LIMIT_MS).toISOString();
    return { ...recorded, gone_by, stays: UNERASED_DATA };
  });
  // The next cycle removes the copies: request it now.
  caller.deps.wake?.();
  return result;
}
