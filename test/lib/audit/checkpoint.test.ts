/** The endpoint for checkpoints, the stored checkpoint and its signature, and rewritten logs that get none. */
import { writeRecords } from "../../support/write_records.ts";
import { generateKeyPairSync, sign } from "node:crypto";
import { expect, test } from "vitest";
import { auditCheckpoint } from "../../../handlers/product/audit_checkpoint.ts";
import { auditProof } from "../../../handlers/product/audit_proof.ts";
import { entryKey } from "../../../lib/audit/chain.ts";
import {
  type CheckpointSigner,
  storeCurrentCheckpoint,
  readLastCheckpoint,
  parseCheckpoint,
} from "../../../lib/audit/checkpoint.ts";
import { isSignedWithKey, parseNote } from "../../../lib/audit/note.ts";
import { decodeBase64 } from "../../../lib/kit/base64.ts";
import type { Log } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { listCapabilities } from "../../../lib/operations/capabilities.ts";
import { restartDeps, type TestDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { get } from "../../support/requests.ts";
import { data, MTH } from "./reference_tree.ts";
import { readLeaves, lengthen, makeLog } from "./synthetic_log.ts";

function newSigner(): CheckpointSigner {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: new Uint8Array(Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url")),
    sign: (text) => new Uint8Array(sign(null, text, privateKey)),
  };
}

/** Returns the dependencies of a process with a signing key. */
const withSigner = (deps: TestDeps, checkpointSigner = newSigner()) => ({ ...deps, checkpointSigner });

const requestCheckpoint = async (deps: TestDeps, headers: HeadersInit = {}) =>
  auditCheckpoint(deps)(get("audit/checkpoint", headers));
const readOrigin = async ({ store }: TestDeps) => (await store.get("meta", "chain"))!.value.origin;
const computeReferenceRoot = async (deps: TestDeps, length: number) =>
  MTH((await readLeaves(deps)).map(data), 0, length).toString("base64");

test("an unsigned checkpoint has origin, length and root, and no signature", async () => {
  const deps = await makeLog(3);
  const response = await requestCheckpoint(deps);
  const [origin, root] = [await readOrigin(deps), await computeReferenceRoot(deps, 3)];
  expect(await response.json()).toEqual({
    checkpoint: `${origin}\n3\n${root}\n\n`,
    origin,
    length: 3,
    root,
    signed: false,
    key: null,
    at: deps.clock.iso(),
    witnesses: [],
  });
});

test("a signed checkpoint verifies under its key, whose name is the origin", async () => {
  const deps = withSigner(await makeLog(3));
  const body = (await (await requestCheckpoint(deps)).json()) as { checkpoint: string; key: string; signed: boolean };
  const origin = await readOrigin(deps);
  expect(body).toMatchObject({
    signed: true,
    length: 3,
    key: expect.stringMatching(/^acme-crm\/audit\/[0-9a-f]{32}\+[0-9a-f]{8}\+/),
  });
  expect(body.checkpoint).toContain(`\n\n— ${origin} `);
  // A key is "name+hash+base64"; the base64 may contain "+", and its first byte names the algorithm.
  const publicKey = decodeBase64(body.key.split("+").slice(2).join("+"))!.slice(1);
  expect(await isSignedWithKey(parseNote(body.checkpoint)!, { name: origin, publicKey }, deps.sha256)).toBe(true);
});

test("Accept: text/plain returns the note as text", async () => {
  const deps = withSigner(await makeLog(2));
  const response = await requestCheckpoint(deps, { accept: "text/plain" });
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(await response.text()).toBe((await storeCurrentCheckpoint(deps)).note);
  const { headers } = await requestCheckpoint(deps, { accept: "text/plain, application/json" });
  expect(headers.get("content-type")).toBe("application/json");
});

test("an empty log has the empty tree's root", async () => {
  const { checkpoint } = (await (await requestCheckpoint(await makeLog(0))).json()) as { checkpoint: string };
  // The SHA-256 of no bytes, in base64.
  expect(checkpoint.split("\n").slice(1, 3)).toEqual(["0", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]);
});

test("a checkpoint covers all entries, and stays the same until another entry is written", async () => {
  const deps = withSigner(await makeLog(5));
  const first = await storeCurrentCheckpoint(deps);
  deps.clock.advance(1000);
  expect(await storeCurrentCheckpoint(deps)).toEqual(first);
  await lengthen(deps, 1);
  const second = await storeCurrentCheckpoint(deps);
  expect(second).toMatchObject({ length: 6, at: deps.clock.iso() });
  expect(second.note.split("\n")[2]).toBe(await computeReferenceRoot(deps, 6));
});

test("a read computes the checkpoint without storing it, also while the store cannot write", async () => {
  const store = failingStore(memoryStore());
  const deps = withSigner(await makeLog(5, { store }));
  store.fail();
  const read = (await (await requestCheckpoint(deps)).json()) as { checkpoint: string; length: number };
  expect(read.length).toBe(5);
  expect(await readLastCheckpoint(deps)).toBeUndefined();
  store.recover();
  const first = await storeCurrentCheckpoint(deps);
  expect(first.note).toBe(read.checkpoint);
  await lengthen(deps, 70);
  store.fail();
  const grown = (await (await requestCheckpoint(deps)).json()) as { checkpoint: string; length: number };
  expect(grown.length).toBe(75);
  expect(await storeCurrentCheckpoint(deps), "a checkpoint that cannot be stored is not used").toEqual(first);
  store.recover();
  expect((await storeCurrentCheckpoint(deps)).note).toBe(grown.checkpoint);
});

test("concurrent requests share one signed checkpoint", async () => {
  const deps = await makeLog(100);
  let signatures = 0;
  const signer = newSigner();
  const counting = withSigner(deps, { ...signer, sign: (text) => (signatures++, signer.sign(text)) });
  const checkpoints = await Promise.all(Array.from({ length: 20 }, () => storeCurrentCheckpoint(counting)));
  expect(new Set(checkpoints.map(({ note }) => note)).size).toBe(1);
  expect(signatures).toBe(1);
});

test("two processes on one store return the same checkpoint", async () => {
  const deps = await makeLog(300);
  const signer = newSigner();
  const otherDeps = await makeLog(0, { store: deps.store, clock: deps.clock });
  const processes = [withSigner(deps, signer), withSigner(otherDeps, signer)];
  for (let round = 0; round < 5; round++) {
    const [first, second] = await Promise.all(processes.map(storeCurrentCheckpoint));
    expect(first!.note).toBe(second!.note);
    await lengthen(deps, 70);
  }
});

test("a new key signs the same tree again, under its own name", async () => {
  const deps = await makeLog(4);
  const unsigned = await storeCurrentCheckpoint(deps);
  const signer = newSigner();
  const signed = await storeCurrentCheckpoint(withSigner(deps, signer));
  expect(signed).toMatchObject({ length: 4, root: unsigned.root, key: expect.any(String) });
  expect(await storeCurrentCheckpoint(withSigner(deps, { ...signer, name: "acme log" }))).toMatchObject({
    key: expect.stringMatching(/^acme%20log\+/),
    note: expect.stringContaining("\n— acme%20log "),
  });
  expect((await storeCurrentCheckpoint(deps)).key).toBeNull();
});

/**
 * Rewrites the log from entry `from` on with valid hashes, as a person with access to the store could: builds it in a store of its
 * own, and copies its entries and head over the originals.
 */
async function rewrite(deps: TestDeps, from: number): Promise<void> {
  const rewritten = await makeLog(from - 1, { clock: deps.clock });
  const { store } = deps;
  const head = (await store.get("meta", "chain"))!.value;
  const unchanged = from === 1 ? [] : await store.list("audit", { limit: from - 1 });
  const last = unchanged.at(-1)?.value;
  await writeRecords(rewritten.store, unchanged, (tx, { id, value }) => tx.put("audit", id, value));
  await rewritten.store.transact((tx) =>
    tx.put("meta", "chain", {
      origin: head.origin,
      length: from - 1,
      head: last?.current_hash ?? "0".repeat(64),
      at: last?.timestamp ?? "",
    }),
  );
  rewritten.clock.advance(1);
  await lengthen(rewritten, head.length - from + 1);
  const entries = await rewritten.store.list("audit", { limit: 100_000 });
  const chain = (await rewritten.store.get("meta", "chain"))!.value;
  await writeRecords(store, entries, (tx, { id, value }) => tx.put("audit", id, value));
  await store.transact((tx) => tx.put("meta", "chain", chain));
}

function createRecordingLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  const addLine = (message: string) => void lines.push(message);
  return { lines, info: addLine, warn: addLine, error: addLine };
}

test("of two processes with different keys, only the one that started last signs", async () => {
  const first = withSigner(await makeLog(1));
  const readStoredKey = async ({ store }: TestDeps) => (await store.get("meta", "checkpoint"))!.value.key;
  await storeCurrentCheckpoint(first);
  const firstKey = await readStoredKey(first);
  const second = withSigner(await restartDeps(first));
  const keyCapability = async (deps: TestDeps) => (await listCapabilities(deps)).find(({ id }) => id === "audit_key");
  const keys: (string | null)[] = [];
  for (const deps of [second, first, second, first]) {
    await lengthen(deps, 1);
    await storeCurrentCheckpoint(deps);
    keys.push(await readStoredKey(deps));
  }
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).not.toBe(firstKey);
  // The last call was made by `first`, which stored nothing for the fifth entry.
  expect(await readLastCheckpoint(first)).toMatchObject({ length: 4 });
  expect(await keyCapability(first)).toMatchObject({ status: "degraded", reason: expect.stringContaining(keys[0]!) });
  expect(await keyCapability(second)).toBeUndefined();
  expect(await storeCurrentCheckpoint(withSigner(await restartDeps(first), first.checkpointSigner))).toMatchObject({
    key: firstKey,
  });
});

test("a process without a key stores one unsigned checkpoint; then the other process signs on", async () => {
  const signed = withSigner(await makeLog(1));
  const unsigned = await restartDeps(signed);
  const keys = [];
  for (const deps of [signed, unsigned, signed, unsigned, signed]) {
    await lengthen(deps, 1);
    keys.push((await storeCurrentCheckpoint(deps)).key);
  }
  expect(keys.map((key) => key !== null)).toEqual([true, false, true, true, true]);
});

test.each([1, 40, 64, 128])(
  "a log rewritten from entry %i gets no checkpoint, and the breach is reported",
  async (from) => {
    const deps = { ...withSigner(await makeLog(128)), log: createRecordingLog() };
    const lastCheckpoint = await storeCurrentCheckpoint(deps);
    await rewrite(deps, from);
    expect(await storeCurrentCheckpoint(deps)).toEqual(lastCheckpoint);
    expect(deps.integrity.breach).toBeDefined();
    expect(deps.log.lines).toContain("audit chain broken");
    delete deps.integrity.breach;
    await lengthen(deps, 3);
    expect(await storeCurrentCheckpoint(deps), "nor after the log grew").toEqual(lastCheckpoint);
    expect(deps.integrity.breach).toBeDefined();
  },
);

test("a log rewritten together with its tree does not continue its last checkpoint", async () => {
  const deps = withSigner(await makeLog(100));
  const lastCheckpoint = await storeCurrentCheckpoint(deps);
  await rewrite(deps, 30);
  await deps.store.transact((tx) => tx.delete("meta", "merkle"));
  await lengthen(deps, 10);
  expect(await storeCurrentCheckpoint(deps)).toEqual(lastCheckpoint);
  expect(deps.integrity.breach).toMatchObject({
    first_invalid: 100,
    reason: expect.stringContaining("does not continue"),
  });
});

test("with a key, a rewritten log is detected although its stored checkpoint was forged", async () => {
  const deps = withSigner(await makeLog(100));
  const { note, key } = await storeCurrentCheckpoint(deps);
  await rewrite(deps, 30);
  const forged = note.replace(/\n.{44}\n/, `\n${await computeReferenceRoot(deps, 100)}\n`);
  await deps.store.transact((tx) => {
    tx.delete("meta", "merkle");
    tx.put("meta", "checkpoint", { note: forged, key, at: deps.clock.iso() });
  });
  await lengthen(deps, 1);
  await storeCurrentCheckpoint(deps);
  expect(deps.integrity.breach?.reason).toContain("signature");
});

/** The key of the first tile of level 1. */
const FIRST_TILE = `1/${entryKey(0)}`;

test.each<[string, (deps: TestDeps) => Promise<void>]>([
  ["is missing", ({ store }) => store.transact((tx) => tx.delete("meta", "merkle"))],
  ["lacks a tile", ({ store }) => store.transact((tx) => tx.delete("merkle", FIRST_TILE))],
  [
    "has another hash in a tile",
    ({ store }) =>
      store.transact(async (tx) => {
        const tile = (await tx.get("merkle", FIRST_TILE))!.value;
        tx.put("merkle", FIRST_TILE, tile.with(1, "1".repeat(64)));
      }),
  ],
  [
    "has another frontier",
    ({ store }) =>
      store.transact(async (tx) => {
        const tree = (await tx.get("meta", "merkle"))!.value;
        tx.put("meta", "merkle", { ...tree, roots: tree.roots.with(0, "1".repeat(64)) });
      }),
  ],
])("a stored tree that %s is rebuilt: the checkpoint is correct, no breach is reported", async (_, damageTree) => {
  const deps = withSigner(await makeLog(200));
  await storeCurrentCheckpoint(deps);
  await damageTree(deps);
  await lengthen(deps, 3);
  expect(await storeCurrentCheckpoint(deps)).toMatchObject({ length: 203 });
  expect((await storeCurrentCheckpoint(deps)).note.split("\n")[2]).toBe(await computeReferenceRoot(deps, 203));
  expect(deps.integrity.breach).toBeUndefined();
  const { status } = await auditProof(deps)(get("audit/proof?id=2"));
  expect(status).toBe(200);
});

test("a truncated log gets no shorter checkpoint", async () => {
  const deps = withSigner(await makeLog(100));
  const lastCheckpoint = await storeCurrentCheckpoint(deps);
  const last = (await deps.store.get("audit", entryKey(90)))!.value;
  const head = (await deps.store.get("meta", "chain"))!.value;
  await deps.store.transact((tx) => {
    for (let id = 91; id <= 100; id++) tx.delete("audit", entryKey(id));
    tx.put("meta", "chain", { ...head, length: 90, head: last.current_hash });
  });
  expect(await storeCurrentCheckpoint(deps)).toEqual(lastCheckpoint);
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 91 });
});

test("a malformed record of the last checkpoint is a breach", async () => {
  const deps = await makeLog(10);
  await storeCurrentCheckpoint(deps);
  await deps.store.transact((tx) => tx.put("meta", "checkpoint", { note: "x", key: null, at: deps.clock.iso() }));
  await lengthen(deps, 1);
  const response = await requestCheckpoint(deps);
  expect([response.status, await response.json()]).toMatchObject([503, { code: "chain_broken" }]);
  expect(deps.integrity.breach?.reason).toContain("no checkpoint");
});

test("a broken chain without a checkpoint gets 503 chain_broken, for proofs too", async () => {
  const deps = await makeLog(10);
  deps.integrity.breach = { first_invalid: 4, reason: "its current_hash does not cover its fields" };
  for (const response of [await requestCheckpoint(deps), await auditProof(deps)(get("audit/proof?id=1"))]) {
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "chain_broken", first_invalid: 4 });
  }
});

test("without a product the endpoints answer 503", async () => {
  const { product: _, ...deps } = await makeLog(1);
  expect((await auditCheckpoint(deps)(get("audit/checkpoint"))).status).toBe(503);
  expect((await auditProof(deps)(get("audit/proof?id=1"))).status).toBe(503);
});

// 43 letters A and "=" are the base64 of 32 zero bytes.
test.each([
  ["a text that is not a note", "a\n1\n"],
  ["a missing root", "a\n1\n\n"],
  ["a length with leading zeros", `a\n01\n${"A".repeat(43)}=\n\n`],
  ["a root of another size", `a\n1\n${"A".repeat(42)}==\n\n`],
  ["an empty origin", `\n1\n${"A".repeat(43)}=\n\n`],
  ["an empty line among its extensions", `a\n1\n${"A".repeat(43)}=\n\nx\n\n`],
])("%s is not a valid checkpoint", (_, note) => {
  expect(parseCheckpoint(note)).toBeUndefined();
});

test("extension lines are ignored", () => {
  expect(parseCheckpoint(`a\n1\n${"A".repeat(43)}=\nx\n\n`)).toEqual({ origin: "a", length: 1, root: "0".repeat(64) });
});
