/** The digest of a change's content, to which consents are bound. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { canonicalContent, type Content, contentDigest } from "../../../../lib/changes/rules/content.ts";

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

const digest = (content: Content): string => contentDigest(content, portableSha256);

test("the digest is the SHA-256 of the content's canonical JSON", () => {
  const canonical =
    '{"affected_users":40,"expected_delta_k":1.5,"kind":"config","kpi":null,"proposer":"pat","rationale":"é",' +
    '"reversible":true,"risk":"medium","summary":"Show it","target":"ui.banner","tenant_id":"t1","tier":"standard",' +
    '"value":{"b":[1,2],"on":true}}';
  expect(digest(CONTENT)).toBe(createHash("sha256").update(canonical).digest("hex"));
});

test("the canonical content is its RFC 8785 JSON, in any order of members", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  // By code point, \ufb33 sorts before the emoji; by UTF-16 unit, as RFC 8785 requires, after it.
  const text = (): string =>
    Array.from({ length: random(6) }, () =>
      pick(["a", "é", "\u2028", '"', "\\", "\n", "\u0007", "😀", "\ufb33", "\u007f"]),
    ).join("");
  const number = (): number =>
    pick([0, -0, 1e21, 1e-7, 0.1 + 0.2, -1.5, 5e-324, 333_333_333.3333333, 2 ** 53, random(1000)]);
  const value = (depth: number): unknown => {
    if (depth === 0) return pick([null, true, false, text(), number()]);
    if (random(2) === 0) return Array.from({ length: random(4) }, () => value(depth - 1));
    return Object.fromEntries(
      Array.from({ length: random(5) }, () => [pick(["1", "10", "9", text()]), value(depth - 1)]),
    );
  };
  for (let index = 0; index < 2000; index++) {
    const content: Content = {
      tenant_id: text(),
      kind: pick(["config", "workflow"]),
      target: text(),
      ...(random(4) > 0 && { value: value(random(4)) }),
      ...(random(4) === 0 && { sets: [{ tenant_id: text(), target: text(), value: value(random(4)) }] }),
      summary: text(),
      rationale: text(),
      expected_delta_k: pick([null, number()]),
      affected_users: pick([null, random(1e6)]),
      reversible: random(2) === 0,
      tier: pick(["minor", "standard", "major"]),
      risk: pick(["low", "high"]),
      kpi: pick([null, text()]),
      proposer: pick([null, text()]),
    };
    const reordered = Object.fromEntries(Object.entries(content).sort(() => random(3) - 1)) as Content;
    expect(canonicalContent(reordered)).toBe(canonicalize(content));
  }
});

test.each([
  ["tenant_id", "t2"],
  ["kind", "workflow"],
  ["target", "ui.banner2"],
  ["value", { on: true, b: [2, 1] }],
  ["value", null],
  ["value", undefined],
  ["sets", [{ tenant_id: "t1", target: "a", value: 1 }]],
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

test("the order of members and fields outside of the content do not change the digest", () => {
  const other = { approver: "ana", status: "approved", ...Object.fromEntries(Object.entries(CONTENT).reverse()) };
  expect(digest({ ...(other as unknown as Content), value: { b: [1, 2], on: true } })).toBe(digest(CONTENT));
});

test("consent is bound to each entry of a plan, and to their order", () => {
  const entry = (value: number) => ({ tenant_id: "t1", target: "a", value });
  const plan = (...sets: object[]): string => digest({ ...CONTENT, sets } as Content);
  const other = { ...entry(2), target: "b" };
  expect(
    new Set([plan(entry(1), other), plan(other, entry(1)), plan(entry(2), other), plan(entry(1), entry(1))]).size,
  ).toBe(4);
});
