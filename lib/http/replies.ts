/** Replies to commands: the body, its receipt and its revision. Under an Idempotency-Key they are stored and repeated. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Caller } from "../changes/caller.ts";
import { isReplayed, type ReplayedReply, type Replies, type ReplyMembers, type Result } from "../changes/replies.ts";
import type { Json } from "../store/json.ts";
import { type Answer, etag, splice, textAnswer } from "./answer.ts";
import type { Call } from "./endpoint.ts";
import { findAnswer, type IdempotencyKey, saveAnswer } from "../changes/idempotency.ts";

/** A reply before it becomes text. */
export interface Reply {
  /** Absent: 200. */
  status?: number;
  members: object;
  /** An object whose members come before `members`. */
  base?: Json<object>;
  /** The receipt, which ends the body as `audit_entry`; absent if nothing was recorded. */
  entry?: Json<AuditEntry>;
  /** Revision of the change, for the ETag. */
  revision?: number;
}

/**
 * Runs a command and answers with its result. Under an Idempotency-Key the answer is stored in the transaction of the write,
 * and an earlier answer is repeated.
 */
export async function respond<R extends Result, D extends Caller["deps"]>(
  call: Call<D>,
  command: (caller: Caller) => Promise<R | ReplayedReply>,
  replyTo: (result: R) => Reply,
): Promise<Answer> {
  const replies = call.idempotency && createStoredReplies(call.idempotency, replyTo);
  const result = await command({ ...call, replies });
  return isReplayed(result) ? replies!.repeat(result.replayed) : toAnswer(replyTo(result));
}

/** Stores the replies to results of type `R` under a key; `repeat` turns the stored reply into an answer. */
export function createStoredReplies<R extends Result>(
  key: IdempotencyKey,
  replyTo: (result: R) => Reply,
): Replies & { repeat(reply: ReplyMembers): Answer } {
  let storedAnswer: Answer | undefined;
  return {
    async find(reads, now) {
      storedAnswer = (await findAnswer(reads, key, now)) as Answer | undefined;
      return storedAnswer && parseMembers(storedAnswer);
    },
    // Stored with the entry's id in place of the entry, which is in the log.
    save: (tx, result, now) =>
      saveAnswer(
        tx,
        key,
        toAnswer(replyTo(result as R), ({ value }) => value.id),
        now,
      ),
    repeat: (reply) => ({
      ...storedAnswer!,
      text: JSON.stringify(reply),
      headers: { ...storedAnswer!.headers, "idempotency-replayed": "true" },
    }),
  };
}

function toAnswer(
  { status, members, base, entry, revision }: Reply,
  receipt: (entry: Json<AuditEntry>) => unknown = (fullEntry) => fullEntry,
): Answer {
  const text = splice(entry ? { ...members, audit_entry: receipt(entry) } : members, base);
  return textAnswer(text, status, revision === undefined ? {} : { etag: etag(revision) });
}

/** Parses a stored reply. Text that is not JSON has no members, so it matches nothing in the log. */
function parseMembers({ text }: Answer): ReplyMembers {
  try {
    return (JSON.parse(text) ?? {}) as ReplyMembers;
  } catch {
    return {};
  }
}
