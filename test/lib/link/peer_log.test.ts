/** The log of a peer is compared with its stored length, head and checkpoint: consistent, lost, rewritten or unknown. */
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { describe, expect, test } from "vitest";
import { isConsistent } from "../../../lib/audit/consistency.ts";
import type { CheckpointAnswer } from "../../../lib/link/messages.ts";
import { judgeLog, type StoredLog } from "../../../lib/link/peer_log.ts";

// An independent implementation of RFC 6962, section 2.1, for a tree of 33 leaves.
const leaves = Array.from({ length: 33 }, (_, i) => Uint8Array.of(i, i, i));
const largestPowerOfTwoBelow = (n: number) => 2 ** Math.ceil(Math.log2(n) - 1);
const cachedHashes = new Map<string, Uint8Array>();
const treeHash = (from: number, to: number): Uint8Array => {
  const hash = cachedHashes.get(`${from} ${to}`) ?? computeHash(from, to);
  cachedHashes.set(`${from} ${to}`, hash);
  return hash;
};
const computeHash = (from: number, to: number): Uint8Array => {
  if (to - from === 0) return sha256(new Uint8Array());
  if (to - from === 1) return sha256(concatBytes(Uint8Array.of(0), leaves[from]!));
  const middle = from + largestPowerOfTwoBelow(to - from);
  return sha256(concatBytes(Uint8Array.of(1), treeHash(from, middle), treeHash(middle, to)));
};
/** SUBPROOF(m, D[from:to], isComplete) of the RFC. */
const subproof = (m: number, from: number, to: number, isComplete: boolean): Uint8Array[] => {
  if (m === to - from) return isComplete ? [] : [treeHash(from, to)];
  const k = largestPowerOfTwoBelow(to - from);
  return m <= k
    ? [...subproof(m, from, from + k, isComplete), treeHash(from + k, to)]
    : [...subproof(m - k, from + k, to, false), treeHash(from, from + k)];
};
const consistencyProof = (m: number, n: number) => subproof(m, 0, n, true);
const root = (n: number) => treeHash(0, n);

describe("a consistency proof", () => {
  test("is valid for every pair of lengths up to 33", () => {
    for (let n = 1; n <= 33; n++)
      for (let m = 1; m <= n; m++)
        expect(isConsistent(m, root(m), n, root(n), consistencyProof(m, n)), `${m} to ${n}`).toBe(true);
  });

  test("is invalid after any modification", () => {
    for (let n = 2; n <= 17; n++)
      for (let m = 1; m < n; m++) {
        const proof = consistencyProof(m, n);
        /** Verifies the proof with one argument replaced. */
        const isValidWith = (change: {
          n?: number;
          oldRoot?: Uint8Array;
          newRoot?: Uint8Array;
          proof?: Uint8Array[];
        }) =>
          isConsistent(m, change.oldRoot ?? root(m), change.n ?? n, change.newRoot ?? root(n), change.proof ?? proof);
        const where = `${m} to ${n}`;
        expect(isValidWith({ oldRoot: root(m + 1) }), where).toBe(false);
        expect(isValidWith({ newRoot: root(n - 1) }), where).toBe(false);
        expect(isValidWith({ proof: [] }), where).toBe(false);
        expect(isValidWith({ proof: proof.slice(1) }), where).toBe(false);
        expect(isValidWith({ proof: proof.slice(0, -1) }), where).toBe(false);
        expect(isValidWith({ proof: [...proof, root(3)] }), where).toBe(false);
        for (let other = m + 1; other <= 33; other++)
          if (consistencyProof(m, other).length !== proof.length)
            expect(isValidWith({ n: other }), `${where} as ${other}`).toBe(false);
        for (const index of proof.keys())
          expect(isValidWith({ proof: proof.with(index, root(33)) }), where).toBe(false);
      }
    expect(isConsistent(3, root(3), 2, root(2), [])).toBe(false);
    expect(isConsistent(3, root(3), 3, root(4), [])).toBe(false);
  });
});

const AT = "2026-01-02T03:04:05.678Z";
/** Returns a head for tests: 64 times the last digit of the log's length, or another digit for another head. */
const head = (digit: string) => digit.repeat(64);
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
/** Returns the peer's answer with the state of its log, without a checkpoint. */
const answerOf = (fields: Partial<CheckpointAnswer> = {}): CheckpointAnswer => ({
  origin: "acme-crm/audit/0f",
  length: 5,
  head: head("5"),
  head_at_from: null,
  checkpoint: null,
  proof: null,
  loss: null,
  ...fields,
});
const answerWithCheckpoint = (length: number, fields: Partial<CheckpointAnswer> = {}): CheckpointAnswer =>
  answerOf({
    length,
    checkpoint: `acme-crm/audit/0f\n${length}\n${base64(root(length))}\n\n`,
    head: head(String(length % 10)),
    ...fields,
  });
/** Returns the state that is stored after the first answer of a peer. */
const storedAfter = (answer: CheckpointAnswer): StoredLog => judgeLog(null, answer, AT).reference!;

describe("a peer's log", () => {
  test("is unknown at first, and stored", () => {
    expect(judgeLog(null, answerOf(), AT)).toMatchObject({
      log: "unknown",
      reference: { length: 5, head: head("5"), at: AT },
    });
  });

  describe("without checkpoints", () => {
    const stored = storedAfter(answerOf());
    test.each([
      ["it has not changed", "consistent", {}],
      ["it grew over its earlier head", "consistent", { length: 7, head: head("7"), head_at_from: head("5") }],
      ["it grew, and its answer lacks the earlier head", "unknown", { length: 7, head: head("7") }],
      ["it shrank", "rewritten", { length: 4, head: head("4") }],
      ["it has another last entry", "rewritten", { head: head("6") }],
      ["it grew over another head", "rewritten", { length: 7, head: head("7"), head_at_from: head("6") }],
      ["it has another origin", "rewritten", { origin: "acme-crm/audit/10" }],
    ] as const)("when %s, it is %s", (_, log, fields) => {
      const judged = judgeLog(stored, answerOf(fields), AT);
      expect(judged.log).toBe(log);
      expect(judged.reference!.length).toBe(log === "rewritten" ? 5 : ((fields as { length?: number }).length ?? 5));
      if (log === "rewritten") expect([judged.reference, judged.reason]).toEqual([stored, expect.stringMatching(/\S/)]);
    });
    test("an empty log may grow into any log", () => {
      const storedEmpty = storedAfter(answerOf({ length: 0, head: head("0") }));
      expect(judgeLog(storedEmpty, answerOf(), AT).log).toBe("consistent");
    });
  });

  describe("with an accepted loss", () => {
    // Entry 4 states that entries 4 to 6 of an earlier log were lost, and that the log continues after entry 3.
    const loss = { entry: 4, length: 3, known: 6, known_head: head("6"), actor: "ops" };
    const shorter = { length: 4, head: head("4") };

    test.each([
      ["it is shorter", storedAfter(answerOf()), answerOf({ ...shorter, loss })],
      ["it has another last entry", storedAfter(answerOf()), answerOf({ head: head("a"), loss })],
      [
        "it grew over other entries",
        storedAfter(answerOf()),
        answerOf({ length: 9, head: head("9"), head_at_from: head("a"), loss }),
      ],
      ["its growth is not proven", storedAfter(answerWithCheckpoint(5)), answerWithCheckpoint(9, { proof: [], loss })],
      [
        "the stored state is the end before the loss",
        storedAfter(answerOf()),
        answerOf({ ...shorter, loss: { ...loss, known: 5, known_head: head("5") } }),
      ],
      [
        "the head of the end before the loss is unknown",
        storedAfter(answerOf()),
        answerOf({ ...shorter, loss: { ...loss, known: 5, known_head: null } }),
      ],
    ])("is reported as lost, and its state stored, when %s and it states the loss", (_, stored, answer) => {
      const judged = judgeLog(stored, answer, AT);
      expect(judged).toMatchObject({ log: "lost", reference: { length: answer.length, head: answer.head } });
      expect(judged.reason).toContain("entry 4 states that ops accepted the loss of what came after entry 3");
      expect(judgeLog(judged.reference, { ...answer, proof: null, head_at_from: null }, AT).log).toBe("consistent");
    });

    test.each([
      ["of entries after the stored length", { ...loss, entry: 6, length: 5 }],
      ["of fewer entries than the stored length", { ...loss, known: 4 }],
      ["of an end with another head than the stored one", { ...loss, known: 5, known_head: head("6") }],
      ["in an entry that the log does not have yet", { ...loss, entry: 5 }],
      ["that continues after its own entry", { ...loss, length: 4 }],
    ])("is rewritten when it states a loss %s", (_, stated) => {
      const stored = storedAfter(answerOf());
      expect(judgeLog(stored, answerOf({ ...shorter, loss: stated }), AT)).toMatchObject({
        log: "rewritten",
        reference: stored,
      });
    });
  });

  describe("with checkpoints", () => {
    const stored = storedAfter(answerWithCheckpoint(5));
    const proof = consistencyProof(5, 9).map(base64);
    test("is consistent when its growth is proven", () => {
      const judged = judgeLog(stored, answerWithCheckpoint(9, { proof, head_at_from: head("5") }), AT);
      expect(judged).toMatchObject({ log: "consistent", reference: { length: 9 } });
      expect(judgeLog(stored, answerWithCheckpoint(5), AT).log).toBe("consistent");
    });
    test.each([
      ["no proof", null],
      ["a proof of other lengths", consistencyProof(4, 9).map(base64)],
      ["a proof that is no base64", ["*"]],
    ])("is rewritten when it grew with %s", (_, proof) => {
      expect(judgeLog(stored, answerWithCheckpoint(9, { proof }), AT)).toMatchObject({
        log: "rewritten",
        reference: stored,
      });
    });
    test("is rewritten when the same length has another root", () => {
      const checkpoint = answerWithCheckpoint(5).checkpoint!.replace(base64(root(5)), base64(root(6)));
      expect(judgeLog(stored, answerWithCheckpoint(5, { checkpoint }), AT).log).toBe("rewritten");
    });
    test("is unknown when the peer sends no more checkpoints, which must not count as growth", () => {
      expect(judgeLog(stored, answerOf({ length: 9, head: head("9"), head_at_from: head("5") }), AT)).toMatchObject({
        log: "unknown",
        reference: stored,
      });
    });
    test("is unknown when the note states another length or origin", () => {
      for (const over of [{ length: 9 }, { origin: "other/audit/1" }])
        expect(judgeLog(stored, { ...answerWithCheckpoint(5), ...over }, AT)).toMatchObject({
          log: "unknown",
          reference: stored,
        });
    });
  });
});
