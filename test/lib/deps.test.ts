/** A service does not start if an agent's secret equals its admin token or its read token. */
import { expect, test } from "vitest";
import { createDeps } from "../../lib/deps.ts";
import { IntentInvalid } from "../../lib/changes/rules/intent.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { manifest } from "../support/intents.ts";

const SECRET = "an agent's own secret";
const INTENT = manifest({
  principals: {
    robo: { kind: "agent", token_sha256: portableSha256("another secret") },
    // An intent may write a hash in upper case.
    "agent:a": { kind: "agent", token_sha256: portableSha256(SECRET).toUpperCase() },
  },
});

test.each([
  ["admin", { adminToken: SECRET }],
  ["read", { readToken: SECRET }],
])("an agent's secret that equals the %s token prevents the start", (what, tokens) => {
  const starting = () => createDeps({ store: memoryStore(), intent: INTENT, ...tokens });
  expect(starting).toThrow(IntentInvalid);
  expect(starting).toThrow(`principals.agent:a.token_sha256 is the hash of the ${what} token`);
  expect(starting).not.toThrow(SECRET);
});

test("tokens that differ from the agents' secrets, and missing tokens, do not prevent the start", () => {
  for (const tokens of [{}, { adminToken: "" }, { adminToken: `${SECRET}!`, readToken: SECRET.slice(1) }])
    expect(createDeps({ store: memoryStore(), intent: INTENT, ...tokens }).agents).toHaveLength(2);
});
