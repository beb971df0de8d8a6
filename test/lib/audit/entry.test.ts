/** The hash of an entry. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { entryHash, FIRST_PREVIOUS_HASH, createCachedHashCheck } from "../../../lib/audit/entry_hash.ts";
import { sha256 as nodeSha256 } from "../../../local/node_ports.ts";
import { hashEntry } from "../../support/independent_chain.ts";

const FIRST: Omit<AuditEntry, "current_hash"> = {
  origin: "acme-crm/audit/0f",
  id: 1,
  timestamp: "2026-01-02T03:04:05.678Z",
  event_type: "change_proposed",
  change_id: "chg_1",
  tenant: "t1",
  detail: "é",
  previous_hash: FIRST_PREVIOUS_HASH,
};
const FIRST_HASH = "3cea597796c018493b524b1395eba040221149459234f34c711aaa83b648a906";
const SECOND: typeof FIRST = {
  ...FIRST,
  id: 2,
  timestamp: "2026-01-02T03:04:06.000Z",
  event_type: "consent_decision",
  detail: "",
  previous_hash: FIRST_HASH,
};
const SECOND_HASH = "a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e";

test.each([
  ["this project", portableSha256],
  ["Node", nodeSha256],
])("the hashes of two entries never change, with the SHA-256 of %s", (_, sha256) => {
  expect(entryHash(FIRST, sha256)).toBe(FIRST_HASH);
  expect(entryHash(SECOND, sha256)).toBe(SECOND_HASH);
});

test("the first previous_hash is 64 zeros", () => {
  expect(FIRST_PREVIOUS_HASH).toBe("0000000000000000000000000000000000000000000000000000000000000000");
});

test.each([
  ["origin", "acme-crm/audit/0e"],
  ["id", 11],
  ["timestamp", "2026-01-02T03:04:05.679Z"],
  ["event_type", "change_applied"],
  ["change_id", "chg_2"],
  ["tenant", "t2"],
  ["detail", "e\u0301"],
  ["previous_hash", "f".repeat(64)],
] as const)("the hash covers %s", (field, value) => {
  expect(entryHash({ ...FIRST, [field]: value }, portableSha256)).not.toBe(FIRST_HASH);
});

test("text that moves from one field to the next changes the hash", () => {
  const moved = { ...FIRST, change_id: "chg_1t", tenant: "1" };
  expect(entryHash(moved, portableSha256)).not.toBe(FIRST_HASH);
});

test.each(["", "a", "é", "李", "😀", "\u0000", "x".repeat(70_000), "😀".repeat(3000)])(
  "any detail has the same hash in an independent implementation (%#)",
  (detail) => {
    const entry = { ...FIRST, detail };
    expect(entryHash(entry, portableSha256)).toBe(hashEntry(entry));
  },
);

test("an invalid entry is rejected each time, and so is an entry edited after it was verified", () => {
  const hasValidHash = createCachedHashCheck();
  const forged = Object.freeze({ ...FIRST, tenant: "t2", current_hash: FIRST_HASH });
  expect([1, 2].map(() => hasValidHash(forged, nodeSha256))).toEqual([false, false]);
  const frozen = Object.freeze({ ...FIRST, current_hash: FIRST_HASH });
  let hashCount = 0;
  const countingSha256 = (data: string | Uint8Array) => (hashCount++, nodeSha256(data));
  expect([1, 2].map(() => hasValidHash(frozen, countingSha256))).toEqual([true, true]);
  expect(hashCount, "the result for a frozen entry is cached").toBe(1);
  const editable = { ...FIRST, current_hash: FIRST_HASH };
  expect(hasValidHash(editable, nodeSha256)).toBe(true);
  editable.tenant = "t2";
  expect(hasValidHash(editable, nodeSha256)).toBe(false);
});
