/** The bucket of a user: one of 10,000, by the MurmurHash3 of salt and user. */
import { expect, test } from "vitest";
import { findBucket, hashMurmur3 } from "../../../lib/rollout/bucket.ts";
import vectors from "./vectors.json" with { type: "json" };

const utf8 = new TextEncoder();

test.each(vectors.buckets)("$key with the salt $salt is in bucket $bucket", ({ salt, key, murmur3, bucket }) => {
  expect(hashMurmur3(utf8.encode(salt + key))).toBe(murmur3);
  expect(findBucket(salt, key)).toBe(bucket);
});

// Published results of MurmurHash3_x86_32 with seed 0.
test.each([
  ["", 0x00000000],
  ["a", 0x3c2569b2],
  ["test", 0xba6bd213],
  ["Hello, world!", 0xc0363e43],
  ["The quick brown fox jumps over the lazy dog", 0x2e4ff723],
])("the hash of %j is %i", (text, hash) => {
  expect(hashMurmur3(utf8.encode(text))).toBe(hash);
});

test("salt and unit are hashed as one text, of any length and with characters beyond ASCII", () => {
  const texts = ["", "a", "ab", "abc", "abcd", "abcdefg", "é", "abcé", "用户", "abcde用户"];
  for (const salt of texts)
    for (const unit of texts)
      expect(findBucket(salt, unit)).toBe(Math.floor((hashMurmur3(utf8.encode(salt + unit)) * 10_000) / 2 ** 32));
});
