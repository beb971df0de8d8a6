/** Inclusion and consistency proofs, computed in memory and returned by `audit/proof`. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { storeCurrentCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { consistencyRanges, inclusionRanges, type NodeReader, computeProofHashes } from "../../../lib/audit/merkle.ts";
import { auditProof } from "../../../handlers/product/audit_proof.ts";
import type { TestDeps } from "../../support/deps.ts";
import { get } from "../../support/requests.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { continues, data, includes, MTH, PATH, PROOF } from "./reference_tree.ts";
import { readLeaves, lengthen, makeLog } from "./synthetic_log.ts";

const LEAVES = Array.from({ length: 130 }, (_, i) => createHash("sha256").update(`leaf ${i}`).digest());
const node: NodeReader = async (height, index) =>
  MTH(LEAVES, index * 2 ** height, (index + 1) * 2 ** height).toString("hex");
const hex = (hashes: Buffer[]) => hashes.map((hash) => hash.toString("hex"));

test("every inclusion proof up to 130 leaves equals PATH of RFC 6962", async () => {
  for (let length = 1; length <= 130; length++)
    for (let index = 0; index < length; index++)
      expect(await computeProofHashes(inclusionRanges(index, length), node, sha256), `${index} of ${length}`).toEqual(
        hex(PATH(index, LEAVES, 0, length)),
      );
});

test("every consistency proof up to 130 leaves equals PROOF of RFC 6962", async () => {
  for (let length = 1; length <= 130; length++)
    for (let from = 1; from <= length; from++)
      expect(await computeProofHashes(consistencyRanges(from, length), node, sha256), `${from} to ${length}`).toEqual(
        hex(PROOF(from, LEAVES, length)),
      );
});

// oxlint-disable-next-line no-explicit-any -- responses have no type
async function requestProof(deps: TestDeps, query: string): Promise<{ status: number; body: any }> {
  const response = await auditProof(deps)(get(`audit/proof${query}`));
  return { status: response.status, body: await response.json() };
}

const decodeHashes = (hashes: string[]) => hashes.map((hash) => Buffer.from(hash, "base64"));

test("proofs from a long stored tree verify against the checkpoint's root and no other", async () => {
  const deps = await makeLog(4500);
  const leaves = (await readLeaves(deps)).map(data);
  const { note } = await storeCurrentCheckpoint(deps);
  // Tiles of the stored tree end after 64 entries (level 0) and after 4,096 (level 1).
  const cases = [
    [1, 1],
    [1, 4500],
    [4500, 4500],
    [64, 4500],
    [65, 4097],
    [4096, 4096],
    [4097, 4500],
    [3001, 3500],
  ] as const;
  for (const [id, length] of cases) {
    const { status, body } = await requestProof(deps, `?id=${id}&length=${length}`);
    expect(status).toBe(200);
    const root = MTH(leaves, 0, length);
    expect(body).toMatchObject({
      kind: "inclusion",
      id,
      length,
      leaf: leaves[id - 1]!.toString("hex"),
      root: root.toString("base64"),
    });
    expect(body.checkpoint).toBe(length === 4500 ? note : null);
    const leaf = data(body.leaf);
    const path = decodeHashes(body.proof);
    expect(includes(leaf, id - 1, length, path, root)).toBe(true);
    expect(includes(leaf, id - 1, length, path, MTH(leaves, 0, length - 1))).toBe(false);
    // The leaf after it, or the first one after the last.
    expect(includes(leaves[id % 4500]!, id - 1, length, path, root)).toBe(false);
  }
  for (const [from, length] of [
    [1, 1],
    [1, 4500],
    [64, 65],
    [100, 4500],
    [4096, 4500],
    [4095, 4096],
    [4500, 4500],
  ] as const) {
    const { body } = await requestProof(deps, `?from=${from}&length=${length}`);
    const [first, second] = [MTH(leaves, 0, from), MTH(leaves, 0, length)];
    expect(body).toMatchObject({
      kind: "consistency",
      from,
      length,
      from_root: first.toString("base64"),
      root: second.toString("base64"),
    });
    expect(continues(from, first, length, second, decodeHashes(body.proof))).toBe(true);
    if (from < length) expect(continues(from, second, length, second, decodeHashes(body.proof))).toBe(false);
  }
});

test("without a length the proof covers the current log and includes its checkpoint", async () => {
  const deps = await makeLog(3);
  await storeCurrentCheckpoint(deps);
  await lengthen(deps, 4);
  const { body } = await requestProof(deps, "?id=7");
  expect(body).toMatchObject({ length: 7, checkpoint: (await storeCurrentCheckpoint(deps)).note });
  expect((await requestProof(deps, "?from=3")).body).toMatchObject({ from: 3, length: 7, checkpoint: body.checkpoint });
});

test.each([
  ["", "id"],
  ["?id=1&from=1", "id"],
  ["?length=2", "id"],
  ["?id=0", "id"],
  ["?id=4", "id"],
  ["?id=3&length=2", "id"],
  ["?from=3&length=2", "from"],
  ["?from=9", "from"],
  ["?id=1&length=4", "length"],
  ["?id=1&length=0", "length"],
  ["?id=x", "id"],
])("audit/proof%s is rejected with an error about %s", async (query, field) => {
  const { status, body } = await requestProof(await makeLog(3), query);
  expect({ status, code: body.code, field: body.fields[0].field }).toEqual({
    status: 400,
    code: "invalid_field",
    field,
  });
});

test("a proof succeeds although a part of the stored tree is missing; the next cycle stores it", async () => {
  const deps = await makeLog(4200);
  await storeCurrentCheckpoint(deps);
  const query = "?id=70&length=3000";
  const { body } = await requestProof(deps, query);
  // The key of the first tile of level 1.
  const tile = `1/${"0".repeat(16)}`;
  const stored = (await deps.store.get("merkle", tile))!.value;
  await deps.store.transact((tx) => tx.delete("merkle", tile));
  expect(await requestProof(deps, query)).toEqual({ status: 200, body });
  expect(await deps.store.get("merkle", tile), "a read writes nothing").toBeUndefined();
  await maintainCheckpoint(deps);
  expect((await deps.store.get("merkle", tile))?.value).toEqual(stored);
});
