/** Acts as a witness: cosigns checkpoints of other logs after verifying that they only grow (C2SP `tlog-witness`). */
import { decodeBase64 } from "../kit/base64.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import { createSemaphore } from "../kit/semaphore.ts";
import type { Clock, Log, Sha256 } from "../kit/platform.ts";
import type { Store } from "../store/store.ts";
import { type CheckpointSigner, parseCheckpoint, type TreeHead } from "./checkpoint.ts";
import { isConsistent } from "./consistency.ts";
import { cosign } from "./cosignature.ts";
import { hexBytes } from "./merkle.ts";
import {
  formatNote,
  computeKeyId,
  keyName,
  type Note,
  type NoteSignature,
  parseNote,
  verifySignature,
  listSignatures,
  type VerifierKey,
} from "./note.ts";
import { parseSubmission, type Submission } from "./witness.ts";

declare module "../store/store.ts" {
  interface Collections {
    watched: WatchedLog;
  }
}

/** `watched/<SHA-256 of the origin>`: the last cosigned checkpoint of a log. */
export interface WatchedLog extends TreeHead {
  /** The note with the signatures of the log and of this witness. */
  note: string;
}

/** The logs that this service watches, and its name and key as a witness. */
export interface Watch {
  name: string;
  signer: CheckpointSigner;
  /** Verifier keys of logs, each named by the origin of its log. */
  logs: readonly VerifierKey[];
  /** Limits the number of submissions that are checked concurrently. */
  runLimited: ReturnType<typeof createSemaphore>;
}

/** Dependencies of watching. */
export interface WatchDeps {
  store: Store;
  clock: Clock;
  sha256: Sha256;
  log: Log;
  watch?: Watch | undefined;
}

const MAX_CONCURRENT_CHECKS = 4;

/** Creates a watch over logs. */
export const makeWatch = (options: Omit<Watch, "runLimited">): Watch => ({
  ...options,
  runLimited: createSemaphore(MAX_CONCURRENT_CHECKS),
});

/** The signature line of this witness, or the size that it cosigned last if the submission states another one. */
export type SubmissionAnswer = { line: string } | { latest: number };

/**
 * Judges a submission, and stores the checkpoint before its cosignature is returned. Errors: 400 `invalid_field`, 404 `not_found`
 * for a log that is not watched, 403 `checkpoint_untrusted`, 422 `checkpoint_inconsistent`.
 */
export function judgeSubmission(deps: WatchDeps, body: string): Promise<SubmissionAnswer> {
  const { watch } = deps;
  if (!watch) throw new AppError("not_found", "this service is no witness; start it with --witness-for FILE");
  return watch.runLimited(async () => {
    const submission = parseSubmission(body);
    const note = submission && parseNote(submission.note);
    const head = submission && parseCheckpoint(submission.note);
    if (!submission || !note || !head)
      throw invalidField("body", "must be an old size line, a consistency proof, an empty line and a checkpoint");
    const trusted = await requireTrustedSignatures(deps, watch, note, head.origin);
    if (hasRepeatedKey(note))
      throw invalidField("body", "has two signature lines of one key; send one line for each key");
    if (submission.old > head.length) throw invalidField("old", "is beyond the checkpoint");
    return cosignAndStore(deps, watch, submission, head, { text: note.text, signatures: trusted });
  });
}

/** Returns whether two signature lines have the same key name and key id: C2SP `tlog-checkpoint` allows one for each. */
const hasRepeatedKey = ({ signatures }: Note): boolean =>
  new Set(signatures.map(({ name, keyId }) => `${name} ${keyId}`)).size < signatures.length;

/** Verifies and returns the signatures of a watched log's keys. Errors: 403 if none is valid, or one is invalid. */
async function requireTrustedSignatures(
  { sha256 }: WatchDeps,
  { logs }: Watch,
  note: Note,
  origin: string,
): Promise<NoteSignature[]> {
  // A verifier key has no spaces or plus signs in its name, so an origin with some has an encoded key name.
  const keys = logs.filter(({ name }) => name === origin || name === keyName(origin));
  if (keys.length === 0) throw new AppError("not_found", "this witness does not watch this log");
  const results = await Promise.all(keys.map((key) => verifySignature(note, key, sha256)));
  if (results.includes("invalid") || !results.includes("valid"))
    throw new AppError("checkpoint_untrusted", "no key that this witness trusts for this log signed the checkpoint");
  return keys.flatMap((key) => listSignatures(note, key, computeKeyId(key, sha256)));
}

/** Cosigns and stores a checkpoint in one transaction, so that concurrent submissions cannot set the size back. */
async function cosignAndStore(
  deps: WatchDeps,
  watch: Watch,
  submission: Submission,
  head: TreeHead,
  note: Note,
): Promise<SubmissionAnswer> {
  const { store, sha256, clock, log } = deps;
  const id = sha256(head.origin);
  const judged = await store.transact(async (tx) => {
    const last = (await tx.get("watched", id))?.value;
    const latest = last?.length ?? 0;
    if (submission.old !== latest) return { latest };
    if (!isContinuation(submission, head, last, sha256)) return { refused: last };
    const cosignature = await cosign(watch, note.text, clock.now(), sha256);
    const cosignedNote = formatNote({ text: note.text, signatures: [...note.signatures, cosignature] });
    tx.put("watched", id, { ...head, note: cosignedNote });
    // The signature line alone: a note begins with its text, here empty, and a line feed.
    return { line: formatNote({ text: "", signatures: [cosignature] }).slice(1) };
  });
  if (!("refused" in judged)) return judged;
  const cosigned = judged.refused?.note ?? null;
  log.error("a log that is watched does not continue what was cosigned", { cosigned, submitted: submission.note });
  throw new AppError(
    "checkpoint_inconsistent",
    `the checkpoint of ${head.length} entries is not shown to continue the one of ${submission.old}`,
  );
}

function isContinuation(
  { old, proof }: Submission,
  { length, root }: TreeHead,
  last: TreeHead | undefined,
  sha256: Sha256,
): boolean {
  if (length === 0 && root !== sha256("")) return false;
  // To continue no entries needs no proof. If the last checkpoint was of an empty log and this one is too, the roots must be equal.
  if (!last || old === 0) return proof.length === 0 && (last?.length !== length || last.root === root);
  // `parseSubmission` has checked the hashes.
  const hashes = proof.map((hash) => decodeBase64(hash)!);
  return isConsistent(old, hexBytes(last.root), length, hexBytes(root), hashes);
}

/** Reads the last cosigned checkpoint of a log by the SHA-256 of its origin. */
export const readCosigned = async ({ store }: Pick<WatchDeps, "store">, id: string): Promise<string | undefined> =>
  /^[0-9a-f]{64}$/.test(id) ? (await store.get("watched", id))?.value.note : undefined;
