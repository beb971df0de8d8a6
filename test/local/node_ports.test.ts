/** Tests the SHA-256 of Node. */
import { expect, test } from "vitest";
import { sha256 } from "../../local/node_ports.ts";

test("sha256 returns lower-case hex, for text as UTF-8 and for bytes", () => {
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256(new TextEncoder().encode("é"))).toBe(sha256("é"));
});
