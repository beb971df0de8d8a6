/**
 * Checkpoints: signed notes with the size and root of the log's tree (C2SP `tlog-checkpoint`). Each continues its predecessor. A
 * read computes the current checkpoint without storing it.
 */
import { bytesToHex } from "@noble/hashes/utils.js";
import type { AuditDeps } from "./deps.ts";
import { decodeBase64, toBase64 } from "../kit/base64.ts";
import { AppError } from "../kit/errors.ts";
import { type Store, StoreUnavailable, type Stored } from "../store/store.ts";
import { type ChainHead, readHead } from "./chain.ts";
import { hexBytes, type Frontier, computeRangeHash, computeRoot } from "./merkle.ts";
import {
  formatNote,
  formatVerifierKey,
  isSignedWithKey,
  computeKeyId,
  keyName,
  noteLine,
  parseNote,
  type VerifierKey,
} from "./note.ts";
import { brokenLogError, growTree, LogBroken, createNodeReader, rebuildTree, TreeIncomplete } from "./tree.ts";
import { reportBreach } from "./report_breach.ts";
import { openTreeView } from "./tree_view.ts";

declare module "../store/store.ts" {
  interface Meta {
    checkpoint: StoredCheckpoint;
  }
}

/** Signs checkpoints with Ed25519; the private key may be in a file or a key service. */
export interface CheckpointSigner {
  /** The 32 bytes of RFC 8032. */
  publicKey: Uint8Array<ArrayBuffer>;
  /** The signature's 64 bytes. */
  sign(text: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>;
  /** The key name in the note; the log's origin unless given. */
  name?: string;
}

/** Stores checkpoints outside the service, where an attacker on the store cannot change them. */
export interface CheckpointAnchor {
  /** Location of the anchor. Under the same name it must not lose checkpoints; a new name begins a new anchor. */
  name?: string;
  /** Adds a checkpoint. `signal` aborts after 10 s. Errors: an Error with a message for people if it was not stored. */
  append(note: string, signal: AbortSignal): Promise<void>;
  /** Returns all checkpoints in pages, oldest first, `""` for an unreadable one; undefined for a write-only anchor. */
  readAll(): AsyncIterable<readonly string[]> | undefined;
}

/** Dependencies of checkpoints. */
export type CheckpointDeps = Pick<AuditDeps, "store" | "sha256" | "clock" | "log" | "integrity" | "mutex"> & {
  checkpointSigner?: CheckpointSigner | undefined;
  anchor?: CheckpointAnchor | undefined;
};

/** Content of a checkpoint; `root` is hex. */
export interface TreeHead {
  origin: string;
  length: number;
  root: string;
}

/** `meta/checkpoint`: the last checkpoint. */
export interface StoredCheckpoint {
  note: string;
  /** The verifier key of its signature; `null` when it is unsigned. */
  key: string | null;
  at: string;
}

/** A checkpoint with its parsed content. */
export interface Checkpoint extends StoredCheckpoint, TreeHead {}

/** Computes the checkpoint of the current log and stores nothing. */
export const readCheckpoint = (deps: CheckpointDeps): Promise<Checkpoint> =>
  deps.mutex("checkpoint", async () => renewCheckpoint(deps, await openTreeView(deps.store)));

/**
 * Returns the checkpoint of the current log, and stores it if the last stored one is older. While the store cannot be written, it
 * returns the last stored one.
 */
export function storeCurrentCheckpoint(deps: CheckpointDeps): Promise<Checkpoint> {
  return deps.mutex("checkpoint", async () => {
    try {
      return await renewCheckpoint(deps, deps.store);
    } catch (error) {
      const last = error instanceof StoreUnavailable ? await readLastCheckpoint(deps) : undefined;
      if (!last) throw error;
      deps.log.warn("the store cannot write: the last checkpoint is answered");
      return last;
    }
  });
}

/** Reads the last stored checkpoint; undefined before the first. */
export async function readLastCheckpoint({ store }: Pick<AuditDeps, "store">): Promise<Checkpoint | undefined> {
  return parseStoredCheckpoint(await store.get("meta", "checkpoint"));
}

const parseStoredCheckpoint = (stored: Stored<StoredCheckpoint> | undefined): Checkpoint | undefined => {
  if (!stored) return undefined;
  const head = parseCheckpoint(stored.value.note);
  return head && { ...stored.value, ...head };
};

/** Parses a note as a checkpoint, without verifying its signatures; undefined if it is none. */
export function parseCheckpoint(note: string): TreeHead | undefined {
  const [origin, length, root, ...extensions] = parseNote(note)?.text.slice(0, -1).split("\n") ?? [];
  const bytes = root === undefined ? undefined : decodeBase64(root);
  if (!origin || !length || !/^(?:0|[1-9]\d{0,14})$/.test(length) || bytes?.length !== 32) return undefined;
  // After these three lines a checkpoint may have extension lines, none of them empty.
  return extensions.includes("") ? undefined : { origin, length: Number(length), root: bytesToHex(bytes) };
}

/** Brings the checkpoint in `store` up to the log's head, and returns it. */
async function renewCheckpoint(deps: CheckpointDeps, store: Store): Promise<Checkpoint> {
  const { clock, sha256, checkpointSigner: signer } = deps;
  for (;;) {
    const log = await readHead(store);
    if (!log) throw new Error("a checkpoint needs an opened product runtime");
    const key = signer && { name: keyName(signer.name ?? log.origin), publicKey: signer.publicKey };
    const stored = await store.get("meta", "checkpoint");
    const last = parseStoredCheckpoint(stored);
    const keyLine = key ? formatVerifierKey(key, sha256) : null;
    if (last && isDisplaced(deps, last, keyLine)) return last;
    const next = await computeNextHead({ ...deps, store }, log, stored, key).catch(async (error: unknown) => {
      if (!(error instanceof LogBroken)) throw error;
      await reportBreach(deps, error.breach);
    });
    // Undefined for a broken log, which was reported.
    if (!next) return requireLastCheckpoint(deps, last);
    if (last?.length === next.length && last.key === keyLine) return last;
    const note = await formatCheckpoint(deps, next, key);
    const renewed: StoredCheckpoint = { note, key: keyLine, at: new Date(clock.now()).toISOString() };
    // If another process stored a checkpoint meanwhile, the next round continues from that.
    const isStored = await store.transact(async (tx) => {
      if ((await tx.get("meta", "checkpoint"))?.revision !== stored?.revision) return false;
      tx.put("meta", "checkpoint", renewed);
      return true;
    });
    if (!isStored) continue;
    deps.integrity.signing = { key: keyLine };
    return { ...renewed, ...next };
  }
}

/**
 * Returns whether another process has signed with another key since this process signed. Then only the process that started last
 * continues, since otherwise both would sign every checkpoint in turn. A process without a key replaces a signed
 * checkpoint once, and displaces no other process.
 */
function isDisplaced({ integrity, log }: CheckpointDeps, last: Checkpoint, key: string | null): boolean {
  const hasOtherKey = last.key !== null && last.key !== key;
  const displaced = hasOtherKey && integrity.signing?.key === key;
  if (!displaced) delete integrity.displaced;
  else if (!integrity.displaced) {
    integrity.displaced = `another process signs checkpoints, with the key ${last.key}: this one makes none until it is restarted; give both the same key`;
    log.warn(integrity.displaced);
  }
  return displaced;
}

/** Computes the tree head to sign next. Errors: `LogBroken`. */
async function computeNextHead(
  deps: CheckpointDeps,
  log: ChainHead,
  stored: Stored<StoredCheckpoint> | undefined,
  key: VerifierKey | undefined,
): Promise<TreeHead> {
  const { integrity, sha256 } = deps;
  if (integrity.breach) throw new LogBroken(integrity.breach);
  const last = parseStoredCheckpoint(stored);
  if (stored && !last) throw brokenLogError(1, "the last checkpoint in the store is no checkpoint");
  const hasOwnKey = last && key && last.key === formatVerifierKey(key, sha256);
  if (hasOwnKey && !(await isSignedWithKey(parseNote(last.note)!, key, sha256)))
    throw brokenLogError(last.length, "the last checkpoint in the store does not bear its signature");
  return computeTreeHead(deps, log, last);
}

/** Computes the log's tree head, and verifies that it continues the checkpoint `last`. Errors: `LogBroken`. */
export async function computeTreeHead(
  deps: Pick<AuditDeps, "store" | "sha256" | "log">,
  { origin }: ChainHead,
  last: TreeHead | undefined,
): Promise<TreeHead> {
  const { sha256 } = deps;
  const verifyTree = async (tree: Frontier, createMismatch: (length: number) => Error): Promise<TreeHead> => {
    const head = { origin: noteLine(origin), length: tree.length, root: computeRoot(tree, sha256) };
    if (last) requireExtension(last, head);
    // The frontier is verified against the tiles too: proofs are made from the tiles.
    const heads = last ? [last, head] : [head];
    for (const { length, root } of heads)
      if ((await computeRangeHash({ start: 0, end: length }, createNodeReader(deps), sha256)) !== root)
        throw createMismatch(length);
    return head;
  };
  try {
    return await verifyTree(await growTree(deps), () => new TreeIncomplete("the audit tree does not match"));
  } catch (error) {
    if (!(error instanceof TreeIncomplete)) throw error;
  }
  // The tree is derived data: rebuild it from the entries before the log is reported as broken.
  deps.log.warn("the stored audit tree does not match; it is rebuilt from the log");
  return verifyTree(await rebuildTree(deps), (length) =>
    brokenLogError(length, `the log does not continue its checkpoint of ${length} entries`),
  );
}

/** Requires a checkpoint of this log that is no longer than the log. Errors: `LogBroken`. */
function requireExtension({ origin, length }: TreeHead, log: TreeHead): void {
  if (origin !== log.origin) throw brokenLogError(1, `the checkpoint is of another log, ${origin}`);
  if (length > log.length)
    throw brokenLogError(
      log.length + 1,
      `the log has ${log.length} entries, and a checkpoint of ${length} was made: its tail was cut`,
    );
}

/** Returns the last checkpoint of a broken log, which gets no new one. Errors: 503 `chain_broken` without one. */
function requireLastCheckpoint({ integrity }: CheckpointDeps, last: Checkpoint | undefined): Checkpoint {
  if (last) return last;
  throw new AppError(
    "chain_broken",
    `the audit chain does not hold at entry ${integrity.breach?.first_invalid}; no checkpoint is made of it`,
    { ...integrity.breach },
  );
}

async function formatCheckpoint(
  { checkpointSigner: signer, sha256 }: CheckpointDeps,
  { origin, length, root }: TreeHead,
  key: VerifierKey | undefined,
): Promise<string> {
  const text = `${origin}\n${length}\n${toBase64(hexBytes(root))}\n`;
  if (!signer || !key) return formatNote({ text, signatures: [] });
  const signature = await signer.sign(new TextEncoder().encode(text));
  return formatNote({ text, signatures: [{ name: key.name, keyId: computeKeyId(key, sha256), signature }] });
}
