/** The subjects of the tampering tests: a realistic log, data stored outside the service, and an attacker's tools. */
import { generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { type CheckpointSigner, storeCurrentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import type { LogState } from "../../local/verify/evidence.ts";
import { data, MTH } from "../lib/audit/reference_tree.ts";
import { writeRecords } from "../support/write_records.ts";
import { hashEntry } from "../support/independent_chain.ts";
import { exportLog, realLog } from "./real_log.ts";

/** An Ed25519 key pair. */
export interface SigningKey {
  privateKey: KeyObject;
  /** The 32 bytes of the public key. */
  raw: Buffer;
  /** The public key as PEM. */
  pem: string;
}

/** Generates a key pair. */
export function newKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  return { privateKey, raw, pem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** Makes the port through which the service signs checkpoints. */
export const makeSigner = ({ privateKey, raw }: SigningKey): CheckpointSigner => ({
  publicKey: new Uint8Array(raw),
  sign: (text) => new Uint8Array(sign(null, text, privateKey)),
});

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** Makes a log of 200 entries with signed checkpoints, a copy of its store at some 180 entries, another log, and a foreign key. */
export async function makeWorld() {
  const [key, otherKey] = [newKey(), newKey()];
  let older: Store | undefined;
  const { deps } = await realLog(200, {}, async ({ deps }) => {
    const { length } = await storeCurrentCheckpoint({ ...deps, checkpointSigner: makeSigner(key) });
    // The last of these copies stays.
    if (length <= 180) older = await copyStore(deps.store);
  });
  const { note } = await storeCurrentCheckpoint({ ...deps, checkpointSigner: makeSigner(key) });
  const entries = parse(await exportLog(deps.store));
  const other = parse(await exportLog((await realLog()).deps.store));
  return { key, otherKey, deps, note, entries, other, older: older! };
}

/** Copies the log and the change records of a store, and the derived data that the checks read. */
export async function copyStore(store: Store): Promise<Store> {
  const copy = memoryStore();
  const views = ["kpi", "live_by_target", "owners", "review_due"] as const;
  for (const collection of ["meta", "audit", "merkle", "changes", ...views] as const)
    await writeRecords(copy, await store.list(collection, { limit: 10_000 }), (tx, { id, value }) =>
      tx.put(collection, id, value as never),
    );
  return copy;
}

/** Parses the entries of an export. */
export const parse = (log: string): AuditEntry[] =>
  log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEntry);

/** Writes entries as an export, in the service's form: unlike `JSON.stringify`, it escapes all characters that may end a line. */
export const write = (entries: readonly AuditEntry[]): string =>
  entries
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("")
    .replaceAll("\u0085", "\\u0085")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");

/**
 * Recomputes all hashes from an index on, as an attacker with write access can. `skippedIds` is the number of ids to skip at that
 * index.
 */
export function rehashed(entries: readonly AuditEntry[], from: number, skippedIds = 0): AuditEntry[] {
  let previous_hash = entries[from - 1]?.current_hash ?? "0".repeat(64);
  return entries.map((entry, index) => {
    if (index < from) return entry;
    const linked = { ...entry, id: index + 1 + skippedIds, previous_hash };
    previous_hash = hashEntry(linked);
    return { ...linked, current_hash: previous_hash };
  });
}

/** Makes a checkpoint of the first `length` entries, independently of the service's code; unsigned without a key. */
export function makeCheckpoint(entries: readonly AuditEntry[], length: number, key?: SigningKey): string {
  const origin = entries[0]!.origin;
  const root = MTH(entries.slice(0, length).map((entry) => data(entry.current_hash)));
  const text = `${origin}\n${length}\n${root.toString("base64")}\n`;
  if (!key) return `${text}\n`;
  // By C2SP's signed-note, the id of a key is the hash of its name, its type (1: Ed25519) and its bytes.
  const id = Buffer.from(
    hash("sha256", Buffer.concat([Buffer.from(`${origin}\n\u0001`), key.raw]), "hex"),
    "hex",
  ).subarray(0, 4);
  return `${text}\n— ${origin} ${Buffer.concat([id, sign(null, Buffer.from(text), key.privateKey)]).toString("base64")}\n`;
}

/** Makes the receipt of an entry. */
export const makeReceipt = (entries: readonly AuditEntry[], id: number): LogState => ({
  length: id,
  head: entries[id - 1]!.current_hash,
  description: `the receipt of entry ${id}`,
});
