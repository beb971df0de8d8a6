/** Objects of a tampering: a real log, the data stored outside, and the means of an attacker. */
import { generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { type CheckpointSigner, storeCurrentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import type { LogState } from "../../local/verify/evidence.ts";
import { data, MTH } from "../lib/audit/reference_tree.ts";
import { inSlices } from "../support/in_slices.ts";
import { hashEntry } from "../support/independent_chain.ts";
import { exportLog, realLog } from "./real_log.ts";

/** An Ed25519 key, as its owner has it. */
export interface SigningKey {
  privateKey: KeyObject;
  raw: Buffer;
  pem: string;
}

/** Makes a key. */
export function newKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  return { privateKey, raw, pem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** The port through which the service signs. */
export const makeSigner = ({ privateKey, raw }: SigningKey): CheckpointSigner => ({
  publicKey: new Uint8Array(raw),
  sign: (text) => new Uint8Array(sign(null, text, privateKey)),
});

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** A log of 200 entries under a key, an older copy of its store, another log, and a key that is not the service's. */
export async function makeWorld() {
  const [key, otherKey] = [newKey(), newKey()];
  let older: Store | undefined;
  const { deps } = await realLog(200, {}, async ({ deps }) => {
    const { length } = await storeCurrentCheckpoint({ ...deps, checkpointSigner: makeSigner(key) });
    if (length <= 180) older = await copyStore(deps.store);
  });
  const { note } = await storeCurrentCheckpoint({ ...deps, checkpointSigner: makeSigner(key) });
  const entries = parse(await exportLog(deps.store));
  const other = parse(await exportLog((await realLog()).deps.store));
  return { key, otherKey, deps, note, entries, other, older: older! };
}

/** A store that holds what audit and governance keep in another. */
export async function copyStore(store: Store): Promise<Store> {
  const copy = memoryStore();
  const views = ["kpi", "live_by_target", "owners", "review_due"] as const;
  for (const collection of ["meta", "audit", "merkle", "changes", ...views] as const)
    await inSlices(copy, await store.list(collection, { limit: 10_000 }), (tx, { id, value }) =>
      tx.put(collection, id, value as never),
    );
  return copy;
}

/** The entries of an export. */
export const parse = (log: string): AuditEntry[] =>
  log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEntry);

/** An export of entries, as the service writes it. */
export const write = (entries: readonly AuditEntry[]): string =>
  entries
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("")
    .replaceAll("\u0085", "\\u0085")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");

/**
 * The entries with all hashes made right again from the given place on, as an attacker with write access can; `leftOut`
 * numbers are passed over there.
 */
export function rehashed(entries: readonly AuditEntry[], from: number, leftOut = 0): AuditEntry[] {
  let previous_hash = entries[from - 1]?.current_hash ?? "0".repeat(64);
  return entries.map((entry, index) => {
    if (index < from) return entry;
    const linked = { ...entry, id: index + 1 + leftOut, previous_hash };
    previous_hash = hashEntry(linked);
    return { ...linked, current_hash: previous_hash };
  });
}

/** A checkpoint of the first `length` entries, written here; unsigned without a key. */
export function makeCheckpoint(entries: readonly AuditEntry[], length: number, key?: SigningKey): string {
  const origin = entries[0]!.origin;
  const root = MTH(entries.slice(0, length).map((entry) => data(entry.current_hash)));
  const text = `${origin}\n${length}\n${root.toString("base64")}\n`;
  if (!key) return `${text}\n`;
  const id = Buffer.from(
    hash("sha256", Buffer.concat([Buffer.from(`${origin}\n\u0001`), key.raw]), "hex"),
    "hex",
  ).subarray(0, 4);
  return `${text}\n— ${origin} ${Buffer.concat([id, sign(null, Buffer.from(text), key.privateKey)]).toString("base64")}\n`;
}

/** A receipt as it is kept. */
export const makeReceipt = (entries: readonly AuditEntry[], id: number): LogState => ({
  length: id,
  head: entries[id - 1]!.current_hash,
  description: `the receipt of entry ${id}`,
});
