import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { IntentInvalid, loadIntent } from "../../../../lib/governance/rules/intent.ts";
import { manifest, type Manifest } from "../../../support/intents.ts";

const load = (text: string) => loadIntent(text, portableSha256);
const loading = (over: Manifest) => () => load(JSON.stringify(manifest(over)));
const without = (field: string): Manifest => ({ [field]: undefined });
const policy = (rules: unknown): Manifest => ({ policy: rules });

test("the four required fields are enough, and everything else has its default", () => {
  const { intent } = load(JSON.stringify(manifest()));
  expect(intent).toMatchObject({
    ...manifest(),
    kpis: {},
    policy: { required_approvers: { standard: 1, major: 1 }, self_approval: true, on_conflict: "report" },
  });
  expect(intent.policy).not.toHaveProperty("minor");
  expect(intent.policy).not.toHaveProperty("approvers");
  expect(intent.policy).not.toHaveProperty("consent_ttl_hours");
});

const REFUSED: [field: string, over: Manifest][] = [
  ["product_id", without("product_id")],
  ["product_id", { product_id: "" }],
  ["product_id", { product_id: "  " }],
  ["product_id", { product_id: 7 }],
  ["version", without("version")],
  ["version", { version: "" }],
  ["version", { version: 1.1 }],
  ["approved_by", without("approved_by")],
  ["approved_by", { approved_by: "" }],
  ["approved_by", { approved_by: null }],
  ["update_epoch", without("update_epoch")],
  ["update_epoch", { update_epoch: 0 }],
  ["update_epoch", { update_epoch: -1 }],
  ["update_epoch", { update_epoch: 1.5 }],
  ["update_epoch", { update_epoch: "3" }],
  ["product_type", { product_type: 3 }],
  ["kpis", { kpis: [] }],
  ["kpis.csat.target", { kpis: { csat: { baseline: 4 } } }],
  ["kpis.csat.baseline", { kpis: { csat: { baseline: "4", target: 5 } } }],
  ["kpis.csat.weight", { kpis: { csat: { baseline: 4, target: 5, weight: 0 } } }],
  ["kpis.constructor", { kpis: { constructor: { baseline: 4, target: 5 } } }],
  ["kpis.CSAT", { kpis: { CSAT: { baseline: 4, target: 5 } } }],
  ["policy", policy([])],
  ["policy.minor.kinds.0", policy({ minor: { kinds: ["database"] } })],
  ["policy.minor.max_affected_users", policy({ minor: { max_affected_users: -1 } })],
  ["policy.minor.max_risk", policy({ minor: { max_risk: "none" } })],
  ["policy.minor.max_per_day", policy({ minor: { max_per_day: 1.5 } })],
  ["policy.required_approvers.standard", policy({ required_approvers: { standard: 0 } })],
  ["policy.required_approvers.major", policy({ required_approvers: { major: "2" } })],
  ["policy.approvers", policy({ approvers: "ana" })],
  ["policy.approvers.1", policy({ approvers: ["ana", ""] })],
  ["policy.self_approval", policy({ self_approval: "no" })],
  ["policy.consent_ttl_hours", policy({ consent_ttl_hours: 0 })],
  ["policy.on_conflict", policy({ on_conflict: "ignore" })],
  ["policy.forbidden_targets", policy({ forbidden_targets: "billing.*" })],
  ["policy.guardrails.0.kpi", policy({ guardrails: [{ max_regression: 1, action: "alert" }] })],
  [
    "policy.guardrails.0.max_regression",
    policy({ guardrails: [{ kpi: "csat", max_regression: -1, action: "alert" }] }),
  ],
  ["policy.guardrails.0.action", policy({ guardrails: [{ kpi: "csat", max_regression: 1, action: "stop" }] })],
];

test.each(REFUSED)("%s is refused and named: %o", (field, over) => {
  expect(loading(over)).toThrow(IntentInvalid);
  expect(loading(over)).toThrow(field);
});

test("every wrong field is named at once", () => {
  expect(loading({ product_id: "", update_epoch: 0 })).toThrow(/product_id .*; update_epoch /);
});

test.each([
  ["no JSON", "product_id: acme"],
  ["no text", ""],
  ["no object", "[]"],
  ["null", "null"],
  ["a repeated member", '{"product_id":"a","product_id":"b","version":"1","approved_by":"x","update_epoch":1}'],
  ["a lone surrogate", '{"product_id":"\\ud800","version":"1","approved_by":"x","update_epoch":1}'],
  ["a number beyond all range", '{"product_id":"a","version":"1","approved_by":"x","update_epoch":1,"x":1e999}'],
])("%s is refused", (_, text) => {
  expect(() => load(text)).toThrow(IntentInvalid);
});

test("manifest_hash is the SHA-256 of the canonical JSON", () => {
  const canonical = '{"approved_by":"é","product_id":"p","update_epoch":1,"version":"1","x":{"a":[1,0.1],"b":null}}';
  const text =
    ' { "version" : "1", "x":{"b":null,"a":[1.0,1e-1]}, "product_id":"p","update_epoch":1,"approved_by":"\\u00e9"}\n';
  const expected = createHash("sha256").update(canonical).digest("hex");
  expect(load(text).manifest_hash).toBe(expected);
  expect(load(`\uFEFF${canonical}`).manifest_hash).toBe(expected);
});

test("the hash covers every member, known or not, and an unknown one is kept", () => {
  const hashOf = (over: Manifest) => load(JSON.stringify(manifest(over))).manifest_hash;
  const hashes = [{}, { note: "a" }, { note: "b" }, { policy: {} }, { policy: { note: 1 } }, { kpis: {} }].map(hashOf);
  expect(new Set(hashes).size).toBe(hashes.length);
});
