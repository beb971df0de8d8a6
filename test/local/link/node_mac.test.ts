/** Tests the fast HMAC of the link, for Node. */
import { expect, test } from "vitest";
import { portableMac } from "../../../lib/link/keys.ts";
import { nodeMac } from "../../../local/link/node_mac.ts";

test("Node's HMAC equals the portable implementation for data of 0 to 299 bytes", () => {
  const key = Uint8Array.from({ length: 32 }, (_, i) => i * 7);
  const [computeByNode, computePortably] = [nodeMac(key), portableMac(key)];
  for (let length = 0; length < 300; length++) {
    const data = Uint8Array.from({ length }, (_, i) => i);
    expect(Uint8Array.from(computeByNode(data))).toEqual(computePortably(data));
  }
});
