import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { type Content, digestOf } from "../../../../lib/governance/rules/change.ts";

const CONTENT: Content = {
  tenant_id: "t1",
  kind: "config",
  target: "ui.banner",
  value: { on: true, b: [1, 2] },
  summary: "Show it",
  rationale: "é",
  expected_delta_k: 1.5,
  affected_users: 40,
  reversible: true,
  tier: "standard",
  risk: "medium",
  kpi: null,
  proposer: "pat",
};

const digest = (content: Content): string => digestOf(content, portableSha256);

test("the digest is the SHA-256 of the content's canonical JSON", () => {
  const canonical =
    '{"affected_users":40,"expected_delta_k":1.5,"kind":"config","kpi":null,"proposer":"pat","rationale":"é",' +
    '"reversible":true,"risk":"medium","summary":"Show it","target":"ui.banner","tenant_id":"t1","tier":"standard",' +
    '"value":{"b":[1,2],"on":true}}';
  expect(digest(CONTENT)).toBe(createHash("sha256").update(canonical).digest("hex"));
});

test.each([
  ["tenant_id", "t2"],
  ["kind", "workflow"],
  ["target", "ui.banner2"],
  ["value", { on: true, b: [2, 1] }],
  ["value", null],
  ["value", undefined],
  ["summary", "Show it "],
  ["rationale", "e\u0301"],
  ["expected_delta_k", 1.6],
  ["expected_delta_k", null],
  ["affected_users", 41],
  ["affected_users", null],
  ["reversible", false],
  ["tier", "minor"],
  ["risk", "low"],
  ["kpi", "csat"],
  ["proposer", "quinn"],
  ["proposer", null],
] as const)("consent is bound to %s: %j is another content", (field, value) => {
  expect(digest({ ...CONTENT, [field]: value } as Content)).not.toBe(digest(CONTENT));
});

test("consent is bound to every member of value, whatever its name", () => {
  const value = (text: string): Content => ({ ...CONTENT, value: JSON.parse(text) });
  expect(digest(value('{"__proto__":{"a":1}}'))).not.toBe(digest(value('{"__proto__":{"a":2}}')));
  expect(digest(value('{"__proto__":1}'))).not.toBe(digest(value("{}")));
  expect(digest(value('{"constructor":1}'))).not.toBe(digest(value("{}")));
});

test("the order of members and what is not content do not matter", () => {
  const other = { approver: "ana", status: "approved", ...Object.fromEntries(Object.entries(CONTENT).reverse()) };
  expect(digest({ ...(other as unknown as Content), value: { b: [1, 2], on: true } })).toBe(digest(CONTENT));
});
