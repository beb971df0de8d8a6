/**
 * Replies to requests under an idempotency key. The caller's protocol stores them in the transaction of the write; a stored
 * reply is repeated only while it matches the audit log.
 */
import type { AuditEntry } from "../audit/entry.ts";
import { AppError } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Json } from "../store/json.ts";
import type { Reads, Tx } from "../store/store.ts";
import type { Evidence } from "./evidence.ts";
import { foldEntries } from "./ledger/verify_record.ts";
import type { Change } from "./rules/change.ts";
import { CONTENT_FIELDS, contentDigest } from "./rules/content.ts";
import { parseDetail } from "./rules/event.ts";
import { isMandateEvent } from "./rules/mandate_record.ts";
import { listDifferences } from "./rules/record.ts";

/** The result of a command; `entry` is its receipt, null for a dry run. */
export interface Result {
  entry: Json<AuditEntry> | null;
}

/** The result of a command that was recorded. */
export interface Receipt extends Result {
  entry: Json<AuditEntry>;
}

/** The members of a reply. */
export interface ReplyMembers {
  [name: string]: unknown;
  audit_entry?: unknown;
}

/** The reply to an earlier request under the same key; a dry run has no entry. */
export interface ReplayedReply {
  replayed: ReplyMembers & { audit_entry?: AuditEntry | null };
}

/** Stores replies under the key of a request. */
export interface Replies {
  /** Finds the stored reply, whose `audit_entry` is the entry's id. Errors: 422 `idempotency_key_reused`. */
  find(reads: Pick<Reads, "getMany">, now: number): Promise<ReplyMembers | undefined>;
  /** Stores the reply to a result. */
  save(tx: Tx, result: Result, now: number): void;
}

/** Returns true for the result of a command, as opposed to an intermediate result such as a started operation. */
export const isResult = (value: unknown): value is Result =>
  typeof value === "object" && value !== null && "entry" in value;

/** Returns true for the reply to an earlier request. */
export const isReplayed = (value: object): value is ReplayedReply => "replayed" in value;

/** Returns the entry that records a command, also if its reply is repeated. */
export const readReceipt = (result: Receipt | ReplayedReply): AuditEntry =>
  isReplayed(result) ? result.replayed.audit_entry! : result.entry.value;

/** Returns a stored reply with its entry. Errors: 409 `evidence_mismatch` if the reply does not match the log. */
export async function verifyReply(
  reply: ReplyMembers,
  log: { evidence: Evidence; sha256: Sha256 },
): Promise<ReplayedReply["replayed"]> {
  // A dry run or a draft has no entry in the log.
  if (reply["dry_run"] === true && reply.audit_entry === null) return { ...reply, audit_entry: null };
  if (reply["state"] === "draft" && reply.audit_entry === undefined) return reply as ReplayedReply["replayed"];
  const entry = await log.evidence.entry(reply.audit_entry);
  if (entry && (await matchesLog(reply, entry, log))) return { ...reply, audit_entry: entry };
  throw new AppError(
    "evidence_mismatch",
    "the answer stored under this idempotency key does not match the audit log; read the change, and send what is left to do under a new key",
    { fields: ["idempotency"] },
  );
}

async function matchesLog(
  reply: ReplyMembers,
  entry: AuditEntry,
  { evidence, sha256 }: { evidence: Evidence; sha256: Sha256 },
): Promise<boolean> {
  // A reply without the member `change` is itself the change, or about no change.
  const { audit_entry: _, change: member = reply, ...members } = reply;
  const change = member as Change | undefined;
  const { change_id } = entry;
  if ((change?.change_id ?? "") !== change_id) return false;
  // The note in an entry about a mandate is its signer's; the note in the reply is the draft's.
  const { note, ...facts } = parseDetail(entry.detail);
  const recorded = new Map<string, unknown>(
    Object.entries(isMandateEvent(entry.event_type) ? facts : { note, ...facts }),
  );
  if (change_id !== "") {
    // All entries, from id 1 on; the state is that after the receipt, not the current one.
    const entries = await evidence.entriesAbout(change_id, 1);
    const state = foldEntries(entries.filter(({ id }) => id <= entry.id));
    // Content that was erased in the meantime matches the digest of the remaining content.
    const remainingDigest = entries
      .map(({ detail }) => parseDetail(detail).remaining_digest)
      .find((digest) => digest !== undefined);
    const differs = (field: string) => field !== "content" || contentDigest(change!, sha256) !== remainingDigest;
    if (!state || listDifferences(state, { ...state, change: change! }, sha256).some(differs)) return false;
    for (const [name, value] of Object.entries(state.change)) recorded.set(name, value);
    // The digest covers the content; for some of its fields the entry has a summary under the same name.
    for (const name of CONTENT_FIELDS) recorded.delete(name);
  }
  return Object.entries(members).every(([name, value]) => !recorded.has(name) || isSame(recorded.get(name), value));
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
