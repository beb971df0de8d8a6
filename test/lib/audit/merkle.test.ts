/** The Merkle tree of the log equals an independent implementation of RFC 6962, in memory and stored. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { entryKey } from "../../../lib/audit/chain.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import {
  hexBytes,
  EMPTY_TREE,
  computeRangeHash,
  computeRoot,
  splitPoint,
  appendLeaf,
} from "../../../lib/audit/merkle.ts";
import { growTree, createNodeReader } from "../../../lib/audit/tree.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { data, MTH } from "./reference_tree.ts";
import { readLeaves, lengthen, makeLog } from "./synthetic_log.ts";

const LEAVES = Array.from({ length: 130 }, (_, i) => createHash("sha256").update(`leaf ${i}`).digest("hex"));
const buildTree = (leaves: readonly string[]) =>
  leaves.reduce((tree, leaf) => appendLeaf(tree, leaf, sha256, () => {}), EMPTY_TREE);
const computeReferenceRoot = (leaves: readonly string[]) => MTH(leaves.map(data)).toString("hex");

test("the root of the two entries of the published vector matches", () => {
  const root = computeRoot(
    buildTree([
      "3cea597796c018493b524b1395eba040221149459234f34c711aaa83b648a906",
      "a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e",
    ]),
    sha256,
  );
  expect(Buffer.from(root, "hex").toString("base64")).toBe("Hf2TKiQNRIg89DQAkkG+Lx3pRq41bGOysIVOjp43W3U=");
});

test("the root at every size up to 130 is that of RFC 6962", () => {
  for (let size = 0; size <= LEAVES.length; size++)
    expect(computeRoot(buildTree(LEAVES.slice(0, size)), sha256), `size ${size}`).toBe(
      computeReferenceRoot(LEAVES.slice(0, size)),
    );
});

test("a growing tree reports every subtree that it completes, with its root", () => {
  const reported: string[] = [];
  LEAVES.reduce(
    (tree, leaf) =>
      appendLeaf(tree, leaf, sha256, (height, root) => {
        const size = 2 ** height;
        const end = tree.length + 1;
        expect(root).toBe(computeReferenceRoot(LEAVES.slice(end - size, end)));
        reported.push(`${height}/${end / size - 1}`);
      }),
    EMPTY_TREE,
  );
  const expected = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((height) =>
    Array.from({ length: Math.floor(130 / 2 ** height) }, (_, index) => `${height}/${index}`),
  );
  expect(reported.sort()).toEqual(expected.sort());
});

test("splitPoint is the greatest power of two below the size", () => {
  expect([2, 3, 4, 5, 8, 9, 2 ** 40 + 1].map(splitPoint)).toEqual([1, 2, 2, 4, 4, 8, 2 ** 40]);
});

test("hex is converted to bytes", () => {
  expect(hexBytes("00ff10")).toEqual(Uint8Array.of(0, 255, 16));
  expect([...hexBytes("00ff10")]).toEqual([0, 255, 16]);
});

test("the stored tree returns the root of every earlier length, however it was grown", async () => {
  const deps = await makeLog(0);
  for (const entries of [1, 62, 1, 1, 130, 4096, 5, 700]) {
    await lengthen(deps, entries);
    await growTree(deps);
  }
  const leaves = (await readLeaves(deps)).map(data);
  for (const length of [1, 2, 63, 64, 65, 128, 195, 4096, 4097, 4160, 4291, leaves.length]) {
    const root = await computeRangeHash({ start: 0, end: length }, createNodeReader(deps), deps.sha256);
    expect(root, `length ${length}`).toBe(MTH(leaves.slice(0, length)).toString("hex"));
  }
});

test("growing the tree by one entry reads that entry only", async () => {
  const deps = await makeLog(3000);
  await growTree(deps);
  await lengthen(deps, 1);
  const reads: unknown[] = [];
  let hashes = 0;
  const { store, sha256 } = deps;
  await growTree({
    store: {
      ...store,
      list: (collection, options) => (reads.push([collection, options]), store.list(collection, options)),
    },
    sha256: (bytes) => (hashes++, sha256(bytes)),
  });
  expect(reads).toEqual([["audit", { after: entryKey(3000), limit: 1 }]]);
  expect(hashes).toBeLessThan(16);
});

test("the tree grows to the length that the log had at the start, while others append entries", async () => {
  const deps = await makeLog(5);
  // Each commit of the tree is preceded by one more entry, so a call that followed the log would reach 8.
  let appendsLeft = 3;
  const transact: typeof deps.store.transact = async (decide) => {
    if (appendsLeft-- > 0) await lengthen(deps, 1);
    return deps.store.transact(decide);
  };
  expect(await growTree({ ...deps, store: { ...deps.store, transact } })).toMatchObject({ length: 5 });
  expect(await growTree(deps)).toMatchObject({ length: 6 });
});

test("a proof reads one page of entries and one tile per level, for any length of the log", async () => {
  const deps = await makeLog(5000);
  await growTree(deps);
  let reads = 0;
  const node = createNodeReader({
    ...deps,
    store: {
      ...deps.store,
      list: (collection, options) => (reads++, deps.store.list(collection, options)),
      get: (collection, id) => (reads++, deps.store.get(collection, id)),
    },
  });
  await computeRangeHash({ start: 0, end: 4999 }, node, deps.sha256);
  expect(reads).toBeLessThanOrEqual(4);
});

const withNewHash = (entry: AuditEntry): AuditEntry => ({ ...entry, current_hash: hashEntry(entry) });

test.each([
  ["an entry whose hash does not cover it", 70, (entry: AuditEntry) => ({ ...entry, tenant: "other" })],
  ["an entry of another log", 70, (entry: AuditEntry) => withNewHash({ ...entry, origin: "acme-crm/audit/ff" })],
  [
    "an entry that does not continue",
    65,
    (entry: AuditEntry) => withNewHash({ ...entry, previous_hash: "0".repeat(64) }),
  ],
  ["an entry under another id", 66, (entry: AuditEntry) => withNewHash({ ...entry, id: 67 })],
])("%s is not added to the tree, and the error has its id", async (_, id, edit) => {
  const deps = await makeLog(64);
  await growTree(deps);
  await lengthen(deps, 20);
  const entry = (await deps.store.get("audit", entryKey(id)))!.value;
  await deps.store.transact((tx) => tx.put("audit", entryKey(id), edit(entry)));
  await expect(growTree(deps)).rejects.toMatchObject({ breach: { first_invalid: id } });
});

test("a log that is shorter than its tree, ends differently or has a gap is a breach", async () => {
  const cut = await makeLog(10);
  await growTree(cut);
  const head = (await cut.store.get("meta", "chain"))!.value;
  await cut.store.transact((tx) => tx.put("meta", "chain", { ...head, length: 9 }));
  await expect(growTree(cut)).rejects.toMatchObject({ breach: { first_invalid: 10 } });
  await cut.store.transact((tx) => tx.put("meta", "chain", { ...head, head: "1".repeat(64) }));
  await expect(growTree(cut)).rejects.toMatchObject({ breach: { first_invalid: 10 } });

  const gap = await makeLog(10);
  await gap.store.transact((tx) => tx.delete("audit", entryKey(10)));
  await expect(growTree(gap)).rejects.toMatchObject({ breach: { first_invalid: 10 } });
});

test("processes that grow the tree concurrently build one tree", async () => {
  const deps = await makeLog(2500);
  const trees = await Promise.all([growTree(deps), growTree(deps), growTree(deps)]);
  for (const tree of trees) expect(tree).toMatchObject({ length: 2500 });
  const root = await computeRangeHash({ start: 0, end: 2500 }, createNodeReader(deps), deps.sha256);
  expect(root).toBe(MTH((await readLeaves(deps)).map(data)).toString("hex"));
});
