import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { describe, expect, test } from "vitest";
import { isConsistent } from "../../../lib/audit/consistency.ts";
import type { CheckpointAnswer } from "../../../lib/link/messages.ts";
import { judgeLog, type StoredLog } from "../../../lib/link/peer_log.ts";

/** RFC 6962 as its section 2.1 defines it, written a second time. */
const leaves = Array.from({ length: 33 }, (_, i) => Uint8Array.of(i, i, i));
const split = (n: number) => 2 ** Math.ceil(Math.log2(n) - 1);
const hashes = new Map<string, Uint8Array>();
const treeHash = (from: number, to: number): Uint8Array => {
  const hash = hashes.get(`${from} ${to}`) ?? freshHash(from, to);
  hashes.set(`${from} ${to}`, hash);
  return hash;
};
const freshHash = (from: number, to: number): Uint8Array => {
  if (to - from === 0) return sha256(new Uint8Array());
  if (to - from === 1) return sha256(concatBytes(Uint8Array.of(0), leaves[from]!));
  const middle = from + split(to - from);
  return sha256(concatBytes(Uint8Array.of(1), treeHash(from, middle), treeHash(middle, to)));
};
const subproof = (m: number, from: number, to: number, whole: boolean): Uint8Array[] => {
  if (m === to - from) return whole ? [] : [treeHash(from, to)];
  const k = split(to - from);
  return m <= k
    ? [...subproof(m, from, from + k, whole), treeHash(from + k, to)]
    : [...subproof(m - k, from + k, to, false), treeHash(from, from + k)];
};
const proofOf = (m: number, n: number) => subproof(m, 0, n, true);
const root = (n: number) => treeHash(0, n);

describe("a consistency proof", () => {
  test("is valid for every pair of lengths up to 33", () => {
    for (let n = 1; n <= 33; n++)
      for (let m = 1; m <= n; m++)
        expect(isConsistent(m, root(m), n, root(n), proofOf(m, n)), `${m} to ${n}`).toBe(true);
  });

  test("is invalid after any modification", () => {
    for (let n = 2; n <= 17; n++)
      for (let m = 1; m < n; m++) {
        const proof = proofOf(m, n);
        const holds = (over: { m?: number; n?: number; a?: Uint8Array; b?: Uint8Array; proof?: Uint8Array[] }) =>
          isConsistent(over.m ?? m, over.a ?? root(m), over.n ?? n, over.b ?? root(n), over.proof ?? proof);
        const where = `${m} to ${n}`;
        expect(holds({ a: root(m + 1) }), where).toBe(false);
        expect(holds({ b: root(n - 1) }), where).toBe(false);
        expect(holds({ proof: [] }), where).toBe(false);
        expect(holds({ proof: proof.slice(1) }), where).toBe(false);
        expect(holds({ proof: proof.slice(0, -1) }), where).toBe(false);
        expect(holds({ proof: [...proof, root(3)] }), where).toBe(false);
        for (let other = m + 1; other <= 33; other++)
          if (proofOf(m, other).length !== proof.length)
            expect(holds({ n: other }), `${where} as ${other}`).toBe(false);
        for (const index of proof.keys()) expect(holds({ proof: proof.with(index, root(33)) }), where).toBe(false);
      }
    expect(isConsistent(3, root(3), 2, root(2), [])).toBe(false);
    expect(isConsistent(3, root(3), 3, root(4), [])).toBe(false);
  });
});

const AT = "2026-01-02T03:04:05.678Z";
const head = (digit: string) => digit.repeat(64);
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const reported = (over: Partial<CheckpointAnswer> = {}): CheckpointAnswer => ({
  origin: "acme-crm/audit/0f",
  length: 5,
  head: head("5"),
  head_at_from: null,
  checkpoint: null,
  proof: null,
  loss: null,
  ...over,
});
const noted = (length: number, over: Partial<CheckpointAnswer> = {}): CheckpointAnswer =>
  reported({
    length,
    checkpoint: `acme-crm/audit/0f\n${length}\n${base64(root(length))}\n\n`,
    head: head(String(length % 10)),
    ...over,
  });
const kept = (answer: CheckpointAnswer): StoredLog => judgeLog(null, answer, AT).reference!;

describe("a peer's log", () => {
  test("is unknown at first, and stored", () => {
    expect(judgeLog(null, reported(), AT)).toMatchObject({
      log: "unknown",
      reference: { length: 5, head: head("5"), at: AT },
    });
  });

  describe("without checkpoints", () => {
    const before = kept(reported());
    test.each([
      ["it is as it was", {}, "consistent"],
      ["it grew over its earlier head", { length: 7, head: head("7"), head_at_from: head("5") }, "consistent"],
      ["it grew, and does not tell its earlier head", { length: 7, head: head("7") }, "unknown"],
      ["it shrank", { length: 4, head: head("4") }, "rewritten"],
      ["its last entry is another", { head: head("6") }, "rewritten"],
      ["it grew over another head", { length: 7, head: head("7"), head_at_from: head("6") }, "rewritten"],
      ["it has another origin", { origin: "acme-crm/audit/10" }, "rewritten"],
    ] as const)("when %s: %3$s", (_, over, log) => {
      const judged = judgeLog(before, reported(over), AT);
      expect(judged.log).toBe(log);
      expect(judged.reference!.length).toBe(log === "rewritten" ? 5 : ((over as { length?: number }).length ?? 5));
      if (log === "rewritten") expect([judged.reference, judged.reason]).toEqual([before, expect.stringMatching(/\S/)]);
    });
    test("an empty log may grow into any log", () => {
      const empty = kept(reported({ length: 0, head: head("0") }));
      expect(judgeLog(empty, reported(), AT).log).toBe("consistent");
    });
  });

  describe("that lost its end", () => {
    const loss = { entry: 4, length: 3, known: 6, known_head: head("6"), actor: "ops" };
    const shorter = { length: 4, head: head("4") };

    test.each([
      ["it is shorter", kept(reported()), reported({ ...shorter, loss })],
      ["it has another last entry", kept(reported()), reported({ head: head("a"), loss })],
      [
        "it grew over other entries",
        kept(reported()),
        reported({ length: 9, head: head("9"), head_at_from: head("a"), loss }),
      ],
      ["its growth is not proven", kept(noted(5)), noted(9, { proof: [], loss })],
      [
        "what was stored is its known end",
        kept(reported()),
        reported({ ...shorter, loss: { ...loss, known: 5, known_head: head("5") } }),
      ],
      [
        "the head of its known end is unknown",
        kept(reported()),
        reported({ ...shorter, loss: { ...loss, known: 5, known_head: null } }),
      ],
    ])("is lost, and stored, when %s and it states the loss", (_, before, now) => {
      const judged = judgeLog(before, now, AT);
      expect(judged).toMatchObject({ log: "lost", reference: { length: now.length, head: now.head } });
      expect(judged.reason).toContain("entry 4 states that ops accepted the loss of what came after entry 3");
      expect(judgeLog(judged.reference, { ...now, proof: null, head_at_from: null }, AT).log).toBe("consistent");
    });

    test.each([
      ["of entries after those that were stored", { ...loss, entry: 6, length: 5 }],
      ["of fewer entries than were stored", { ...loss, known: 4 }],
      ["of another end than the one that was stored", { ...loss, known: 5, known_head: head("6") }],
      ["in an entry that the log does not have yet", { ...loss, entry: 5 }],
      ["that continues from beyond its own entry", { ...loss, length: 4 }],
    ])("is rewritten when it states a loss %s", (_, stated) => {
      const before = kept(reported());
      expect(judgeLog(before, reported({ ...shorter, loss: stated }), AT)).toMatchObject({
        log: "rewritten",
        reference: before,
      });
    });
  });

  describe("with checkpoints", () => {
    const before = kept(noted(5));
    const proof = proofOf(5, 9).map(base64);
    test("is consistent when its growth is proven", () => {
      const judged = judgeLog(before, noted(9, { proof, head_at_from: head("5") }), AT);
      expect(judged).toMatchObject({ log: "consistent", reference: { length: 9 } });
      expect(judgeLog(before, noted(5), AT).log).toBe("consistent");
    });
    test.each([
      ["no proof", null],
      ["a proof of other lengths", proofOf(4, 9).map(base64)],
      ["a proof that is no base64", ["*"]],
    ])("is rewritten when it grew with %s", (_, proof) => {
      expect(judgeLog(before, noted(9, { proof }), AT)).toMatchObject({ log: "rewritten", reference: before });
    });
    test("is rewritten when the same length has another root", () => {
      const checkpoint = noted(5).checkpoint!.replace(base64(root(5)), base64(root(6)));
      expect(judgeLog(before, noted(5, { checkpoint }), AT).log).toBe("rewritten");
    });
    test("is unknown when the peer sends no more checkpoints, which must not count as growth", () => {
      expect(judgeLog(before, reported({ length: 9, head: head("9"), head_at_from: head("5") }), AT)).toMatchObject({
        log: "unknown",
        reference: before,
      });
    });
    test("is unknown when the note states another length or origin", () => {
      for (const over of [{ length: 9 }, { origin: "other/audit/1" }])
        expect(judgeLog(before, { ...noted(5), ...over }, AT)).toMatchObject({ log: "unknown", reference: before });
    });
  });
});
