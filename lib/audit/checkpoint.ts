/**
 * Checkpoints: the C2SP `tlog-checkpoint` of the log's tree in a signed note. None is made that does not continue the last. A
 * read computes the checkpoint of the log as it is; the cycle stores one.
 */
import { bytesToHex } from "@noble/hashes/utils.js";
import type { AuditDeps } from "./deps.ts";
import { decodeBase64, toBase64 } from "../kit/base64.ts";
import { AppError } from "../kit/errors.ts";
import { type Store, StoreUnavailable, type Stored } from "../store/store.ts";
import { type ChainHead, readHead } from "./chain.ts";
import { hexBytes, type Frontier, rangeHash, computeRoot } from "./merkle.ts";
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
import { broken, growTree, LogBroken, nodeReader, regrowTree, TreeIncomplete } from "./tree.ts";
import { reportBreach } from "./report_breach.ts";
import { treeView } from "./tree_view.ts";

declare module "../store/store.ts" {
  interface Meta {
    checkpoint: KeptCheckpoint;
  }
}

/** Signs checkpoints with Ed25519, wherever the private key is: a file, a key service. */
export interface CheckpointSigner {
  /** The 32 bytes of RFC 8032. */
  publicKey: Uint8Array<ArrayBuffer>;
  /** The signature's 64 bytes. */
  sign(text: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>;
  /** The key name in the note; the log's origin unless given. */
  name?: string;
}

/** Keeps checkpoints where the holder of the store cannot change them. */
export interface CheckpointAnchor {
  /** Location of the anchor. One of the same name must not lose checkpoints; one of another name begins again. */
  name?: string;
  /** Adds a checkpoint; rejects when it could not be kept, with a message for people. `signal` aborts after 10 s. */
  keep(note: string, signal: AbortSignal): Promise<void>;
  /** All that it keeps, oldest first, some at a time, `""` for what cannot be read; `undefined` where it cannot be read back. */
  kept(): AsyncIterable<readonly string[]> | undefined;
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

/** `meta/checkpoint`: the last one made. */
export interface KeptCheckpoint {
  note: string;
  /** The verifier key it is signed for, `null` when it is not signed. */
  key: string | null;
  at: string;
}

/** A checkpoint with what it says. */
export interface Checkpoint extends KeptCheckpoint, TreeHead {}

/** Returns the checkpoint of the log as it is now and stores nothing. */
export const readCheckpoint = (deps: CheckpointDeps): Promise<Checkpoint> =>
  deps.mutex("checkpoint", async () => renew(deps, await treeView(deps.store)));

/** Stores the checkpoint of the log as it is now, where the last one is of an earlier state, and returns it. */
export function currentCheckpoint(deps: CheckpointDeps): Promise<Checkpoint> {
  return deps.mutex("checkpoint", async () => {
    try {
      return await renew(deps, deps.store);
    } catch (error) {
      const last = error instanceof StoreUnavailable ? await lastCheckpoint(deps) : undefined;
      if (!last) throw error;
      deps.log.warn("the store cannot write: the last checkpoint is answered");
      return last;
    }
  });
}

/** The last checkpoint made, if there is one. */
export async function lastCheckpoint({ store }: Pick<AuditDeps, "store">): Promise<Checkpoint | undefined> {
  return opened(await store.get("meta", "checkpoint"));
}

const opened = (stored: Stored<KeptCheckpoint> | undefined): Checkpoint | undefined => {
  if (!stored) return undefined;
  const head = parseCheckpoint(stored.value.note);
  return head && { ...stored.value, ...head };
};

/** Parses a note as a checkpoint; its signatures are not verified. */
export function parseCheckpoint(note: string): TreeHead | undefined {
  const [origin, length, root, ...extensions] = parseNote(note)?.text.slice(0, -1).split("\n") ?? [];
  const bytes = root === undefined ? undefined : decodeBase64(root);
  if (!origin || !length || !/^(?:0|[1-9]\d{0,14})$/.test(length) || bytes?.length !== 32) return undefined;
  return extensions.includes("") ? undefined : { origin, length: Number(length), root: bytesToHex(bytes) };
}

/** `store`: where the tree and the checkpoint are stored. */
async function renew(deps: CheckpointDeps, store: Store): Promise<Checkpoint> {
  const { clock, sha256, checkpointSigner: signer } = deps;
  for (;;) {
    const log = await readHead(store);
    if (!log) throw new Error("a checkpoint needs an opened product runtime");
    const key = signer && { name: keyName(signer.name ?? log.origin), publicKey: signer.publicKey };
    const stored = await store.get("meta", "checkpoint");
    const last = opened(stored);
    const keyLine = key ? formatVerifierKey(key, sha256) : null;
    if (last && isDisplaced(deps, last, keyLine)) return last;
    const next = await nextHead({ ...deps, store }, log, stored, key).catch(async (error: unknown) => {
      if (!(error instanceof LogBroken)) throw error;
      await reportBreach(deps, error.breach);
    });
    if (!next) return lastBeforeBreach(deps, last);
    if (last?.length === next.length && last.key === keyLine) return last;
    const note = await formCheckpoint(deps, next, key);
    const kept: KeptCheckpoint = { note, key: keyLine, at: new Date(clock.now()).toISOString() };
    // If another process made one meanwhile, the next round continues from it.
    const isKept = await store.transact(async (tx) => {
      if ((await tx.get("meta", "checkpoint"))?.revision !== stored?.revision) return false;
      tx.put("meta", "checkpoint", kept);
      return true;
    });
    if (!isKept) continue;
    deps.integrity.signing = { key: keyLine };
    return { ...kept, ...next };
  }
}

/**
 * Returns whether another process signs with a key of its own since this one did: the process that started last goes on, or both
 * would sign every checkpoint in turn. One without a key displaces nobody.
 */
function isDisplaced({ integrity, log }: CheckpointDeps, last: Checkpoint, key: string | null): boolean {
  const displaced = last.key !== null && last.key !== key && integrity.signing?.key === key;
  if (!displaced) delete integrity.displaced;
  else if (!integrity.displaced) {
    integrity.displaced = `another process signs checkpoints, with the key ${last.key}: this one makes none until it is restarted; give both the same key`;
    log.warn(integrity.displaced);
  }
  return displaced;
}

/** The tree head to sign next. Errors: `LogBroken`. */
async function nextHead(
  deps: CheckpointDeps,
  log: ChainHead,
  stored: Stored<KeptCheckpoint> | undefined,
  key: VerifierKey | undefined,
): Promise<TreeHead> {
  const { integrity, sha256 } = deps;
  if (integrity.breach) throw new LogBroken(integrity.breach);
  const last = opened(stored);
  if (stored && !last) throw broken(1, "the last checkpoint in the store is no checkpoint");
  const isOurs = last && key && last.key === formatVerifierKey(key, sha256);
  if (isOurs && !(await isSignedWithKey(parseNote(last.note)!, key, sha256)))
    throw broken(last.length, "the last checkpoint in the store does not bear its signature");
  return continuedHead(deps, log, last);
}

/** The log's tree head, which continues a checkpoint of it. Errors: `LogBroken`. */
export async function continuedHead(
  deps: Pick<AuditDeps, "store" | "sha256" | "log">,
  { origin }: ChainHead,
  last: TreeHead | undefined,
): Promise<TreeHead> {
  const { sha256 } = deps;
  const fitting = async (tree: Frontier, misfit: (length: number) => Error): Promise<TreeHead> => {
    const head = { origin: noteLine(origin), length: tree.length, root: computeRoot(tree, sha256) };
    if (last) requireWithin(last, head);
    // The frontier, too, is verified against the tiles: a checkpoint must be of the tree that proofs are made from.
    for (const { length, root } of last ? [last, head] : [head])
      if ((await rangeHash({ start: 0, end: length }, nodeReader(deps), sha256)) !== root) throw misfit(length);
    return head;
  };
  try {
    return await fitting(await growTree(deps), () => new TreeIncomplete("the audit tree does not fit"));
  } catch (error) {
    if (!(error instanceof TreeIncomplete)) throw error;
  }
  // The tree is derived: before the log is accused, it is rebuilt from the entries alone.
  deps.log.warn("the stored audit tree does not match; it is rebuilt from the log");
  return fitting(await regrowTree(deps), (length) =>
    broken(length, `the log does not continue its checkpoint of ${length} entries`),
  );
}

/** A checkpoint that no earlier state of the log can have, whatever its root is, is a breach. */
function requireWithin({ origin, length }: TreeHead, log: TreeHead): void {
  if (origin !== log.origin) throw broken(1, `the checkpoint is of another log, ${origin}`);
  if (length > log.length)
    throw broken(
      log.length + 1,
      `the log has ${log.length} entries, and a checkpoint of ${length} was made: its tail was cut`,
    );
}

/** A broken log gets no new checkpoint; the last one stays readable. */
function lastBeforeBreach({ integrity }: CheckpointDeps, last: Checkpoint | undefined): Checkpoint {
  if (last) return last;
  throw new AppError(
    "chain_broken",
    `the audit chain does not hold at entry ${integrity.breach?.first_invalid}; no checkpoint is made of it`,
    { ...integrity.breach },
  );
}

async function formCheckpoint(
  { checkpointSigner: signer, sha256 }: CheckpointDeps,
  { origin, length, root }: TreeHead,
  key: VerifierKey | undefined,
): Promise<string> {
  const text = `${origin}\n${length}\n${toBase64(hexBytes(root))}\n`;
  if (!signer || !key) return formatNote({ text, signatures: [] });
  const signature = await signer.sign(new TextEncoder().encode(text));
  return formatNote({ text, signatures: [{ name: key.name, keyId: computeKeyId(key, sha256), signature }] });
}
