/** Loading an intent: valid and invalid fields, its hash, and the description of its rules. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { STANDARD_KPIS } from "../../../../lib/changes/rules/change_terms.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { IntentInvalid, loadIntent } from "../../../../lib/changes/rules/intent.ts";
import { intentJsonSchema } from "../../../support/intent_json_schema.ts";
import { describeRules } from "../../../../lib/changes/rules/describe_rules.ts";
import { findContradictions } from "../../../../lib/changes/rules/contradictions.ts";
import { passkey, sshSigner } from "../../../support/passkeys.ts";
import { manifest, type Manifest } from "../../../support/intents.ts";
import { selectCases } from "../../../support/run_length.ts";

const ROOT = join(import.meta.dirname, "../../../..");

interface Schema {
  properties?: Record<string, Schema>;
  oneOf?: Schema[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
}

const load = (text: string) => loadIntent(text, portableSha256);
const loadWith = (overrides: Manifest) => () => load(JSON.stringify(manifest(overrides)));
const withoutField = (field: string): Manifest => ({ [field]: undefined });
const withPolicy = (rules: unknown): Manifest => ({ policy: rules });
const withGuardrail = (overrides: object): Manifest =>
  withPolicy({ guardrails: [{ kpi: "csat", max_regression: 1, action: "alert", ...overrides }] });

test("only four fields are required, and all others have defaults", () => {
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

test("apply_when requires policy:apply_when in permissions.apply where that list is set", () => {
  const apply_when = ["manual", "approved"];
  const loadWithApplyList = (apply: string[], rules: object = { apply_when }) =>
    loadWith(withPolicy({ ...rules, approvers: ["ana"], permissions: { apply } }));
  expect(loadWithApplyList(["ana"])).toThrow(
    "policy.permissions.apply must list policy:apply_when, since policy.apply_when lets changes apply by themselves",
  );
  expect(loadWithApplyList(["ana", "policy:apply_when"])).not.toThrow();
  expect(loadWithApplyList(["policy:apply_when"])).not.toThrow();
  for (const rules of [{}, { apply_when: ["manual"] }]) expect(loadWithApplyList(["ana"], rules)).not.toThrow();
  expect(loadWith(withPolicy({ apply_when }))).not.toThrow();
  for (const name of ["policy:apply_wen", "policy:minor"])
    expect(loadWithApplyList([name])).toThrow("permissions.apply.0");
  expect(loadWith(withPolicy({ permissions: { rollback: ["policy:apply_when"] } }))).toThrow("permissions.rollback.0");
});

const HOURS = { days: ["mon"], from: "09:00", to: "17:00", tz: "UTC" };

const INVALID_FIELDS: [field: string, overrides: Manifest][] = [
  ["product_id", withoutField("product_id")],
  ["product_id", { product_id: "" }],
  ["product_id", { product_id: "  " }],
  ["product_id", { product_id: 7 }],
  ["version", withoutField("version")],
  ["version", { version: "" }],
  ["version", { version: 1.1 }],
  ["approved_by", withoutField("approved_by")],
  ["approved_by", { approved_by: "" }],
  ["approved_by", { approved_by: null }],
  ["update_epoch", withoutField("update_epoch")],
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
  ["policy", withPolicy([])],
  ["policy.minor.kinds.0", withPolicy({ minor: { kinds: ["database"] } })],
  ["policy.minor.max_affected_users", withPolicy({ minor: { max_affected_users: -1 } })],
  ["policy.minor.max_risk", withPolicy({ minor: { max_risk: "none" } })],
  ["policy.minor.apply_when", withPolicy({ minor: { apply_when: ["approved"] } })],
  ["policy.apply_when.0", withPolicy({ apply_when: ["aproved"] })],
  ["policy.apply_when", withPolicy({ apply_when: "approved" })],
  ["policy.minor.max_per_day", withPolicy({ minor: { max_per_day: 1.5 } })],
  ["policy.required_approvers.standard", withPolicy({ required_approvers: { standard: 0 } })],
  ["policy.required_approvers.major", withPolicy({ required_approvers: { major: "2" } })],
  ["policy.approvers", withPolicy({ approvers: "ana" })],
  ["policy.approvers.1", withPolicy({ approvers: ["ana", ""] })],
  ["policy.self_approval", withPolicy({ self_approval: "no" })],
  ["policy.consent_ttl_hours", withPolicy({ consent_ttl_hours: 0 })],
  ["policy.approval_ttl_hours", withPolicy({ approval_ttl_hours: -1 })],
  ["policy.on_stale", withPolicy({ on_stale: "ignore" })],
  ["policy.on_moved", withPolicy({ on_moved: "ignore" })],
  ["policy.on_drift", withPolicy({ on_drift: "ignore" })],
  ["policy.owners.0.approvers", withPolicy({ owners: [{ targets: ["*"], approvers: [] }] })],
  ["policy.owners.0.targets", withPolicy({ owners: [{ targets: [], approvers: ["ana"] }] })],
  ["policy.owners.0.required", withPolicy({ owners: [{ targets: ["*"], approvers: ["ana"], required: 0 }] })],
  ["policy.windows.allow.0.tz", withPolicy({ windows: { allow: [{ ...HOURS, tz: "Europe/Nowhere" }] } })],
  ["policy.windows.allow.0.days.0", withPolicy({ windows: { allow: [{ ...HOURS, days: ["monday"] }] } })],
  ["policy.windows.allow.0.days", withPolicy({ windows: { allow: [{ ...HOURS, days: [] }] } })],
  ["policy.windows.allow.0.from", withPolicy({ windows: { allow: [{ ...HOURS, from: "9:00" }] } })],
  ["policy.windows.allow.0.from", withPolicy({ windows: { allow: [{ ...HOURS, from: "17:00" }] } })],
  ["policy.windows.allow.0.from", withPolicy({ windows: { allow: [{ ...HOURS, from: "24:00" }] } })],
  [
    "policy.windows.deny.0.from",
    withPolicy({ windows: { deny: [{ from: "2026-12-20", to: "2027-01-04T00:00:00Z" }] } }),
  ],
  [
    "policy.windows.deny.0.to",
    withPolicy({ windows: { deny: [{ from: "2027-01-04T00:00:00Z", to: "2027-01-04T00:00:00Z" }] } }),
  ],
  ["policy.on_conflict", withPolicy({ on_conflict: "ignore" })],
  ["policy.forbidden_targets", withPolicy({ forbidden_targets: "billing.*" })],
  ["policy.guardrails.0.kpi", withPolicy({ guardrails: [{ max_regression: 1, action: "alert" }] })],
  [
    "policy.guardrails.0.max_regression",
    withPolicy({ guardrails: [{ kpi: "csat", max_regression: -1, action: "alert" }] }),
  ],
  ["policy.guardrails.0.action", withPolicy({ guardrails: [{ kpi: "csat", max_regression: 1, action: "stop" }] })],
  ["policy.guardrails.0.hours", withGuardrail({ hours: 0 })],
  ["policy.guardrails.0.hours", withGuardrail({ hours: "24" })],
  ["policy.guardrails.0.targets", withGuardrail({ targets: [] })],
  ["policy.guardrails.0.targets.0", withGuardrail({ targets: ["/billing/*"] })],
];

test.each(INVALID_FIELDS)("an invalid %s is rejected, and the error names the field: %o", (field, overrides) => {
  expect(loadWith(overrides)).toThrow(IntentInvalid);
  expect(loadWith(overrides)).toThrow(field);
});

test("one error names all invalid fields", () => {
  expect(loadWith({ product_id: "", update_epoch: 0 })).toThrow(/product_id .*; update_epoch /);
});

test.each([
  ["not JSON", "product_id: acme"],
  ["empty", ""],
  ["not an object", "[]"],
  ["null", "null"],
  [
    "JSON with a repeated member",
    '{"product_id":"a","product_id":"b","version":"1","approved_by":"x","update_epoch":1}',
  ],
  ["JSON with a lone surrogate", '{"product_id":"\\ud800","version":"1","approved_by":"x","update_epoch":1}'],
  [
    "JSON with a number that would be rounded",
    '{"product_id":"a","version":"1","approved_by":"x","update_epoch":1,"x-id":12345678901234567890}',
  ],
  [
    "JSON with a number that is out of range",
    '{"product_id":"a","version":"1","approved_by":"x","update_epoch":1,"x":1e999}',
  ],
])("an intent that is %s is rejected", (_, text) => {
  expect(() => load(text)).toThrow(IntentInvalid);
});

test("the error about invalid JSON states the position", () => {
  expect(() => load('{\n  "product_id": "acme",\n}')).toThrow(/^the product intent is not valid JSON: .*position 26/);
});

test("manifest_hash is the SHA-256 of the canonical JSON", () => {
  const canonical = '{"approved_by":"é","product_id":"p","update_epoch":1,"version":"1","x":{"a":[1,0.1],"b":null}}';
  const text =
    ' { "version" : "1", "x":{"b":null,"a":[1.0,1e-1]}, "product_id":"p","update_epoch":1,"approved_by":"\\u00e9"}\n';
  const expected = createHash("sha256").update(canonical).digest("hex");
  expect(load(text).manifest_hash).toBe(expected);
  expect(load(`\uFEFF${canonical}`).manifest_hash).toBe(expected);
});

test("the hash covers every member, also those that the schema does not know", () => {
  const computeHash = (overrides: Manifest) => load(JSON.stringify(manifest(overrides))).manifest_hash;
  const variants = [{}, { note: "a" }, { note: "b" }, { policy: {} }, { policy: { "x-note": 1 } }, { kpis: {} }];
  expect(new Set(variants.map(computeHash)).size).toBe(variants.length);
});

test("a field whose name begins with x- is accepted at any level", () => {
  const free = { "x-why": { any: ["thing"] } };
  const { intent } = load(
    JSON.stringify(
      manifest({
        ...free,
        kpis: { csat: { baseline: 4, target: 5, ...free } },
        policy: { self_approval: false, minor: { kinds: ["config"], ...free }, ...free },
      }),
    ),
  );
  expect(intent.policy).toMatchObject({ self_approval: false, minor: { kinds: ["config"] } });
});

/** An intent that uses every field of the schema. */
const FULL_INTENT = manifest({
  product_type: "crm",
  kpis: { csat: { baseline: 4, target: 5, weight: 2, deadline: "2026-12-31", tenant: "t1" } },
  principals: {
    ana: { kind: "person", keys: [{ ...passkey().key, origins: ["https://gov.acme.example"] }, sshSigner().key] },
    bo: { kind: "person", keys: [sshSigner("ssh-ed25519").key], idp: ["release"] },
    "agent:pricing": {
      kind: "agent",
      token_sha256: "a".repeat(64),
      may: { targets: ["ui.*"], kinds: ["config"], tenants: ["t1"], read: "own", max_open: 5, max_per_day: 50 },
    },
  },
  policy: {
    minor: {
      kinds: ["config"],
      targets: ["ui.*"],
      tenants: ["t1"],
      max_affected_users: 5,
      max_risk: "low",
      max_per_day: 2,
      agents: true,
      apply_when: true,
    },
    required_approvers: { standard: 1, major: 2 },
    approvers: ["ana", "bo"],
    groups: { finance: ["ana", "bo"] },
    permissions: {
      apply: ["group:finance", "policy:apply_when"],
      rollback: ["bo"],
      freeze: ["bo"],
      unfreeze: ["bo"],
      restore: ["bo"],
      feed_kpis: ["bo"],
      erase: ["ana"],
      accept_clock: ["bo"],
      notes: ["bo"],
    },
    self_approval: false,
    signed_only: true,
    consent_ttl_hours: 72,
    owners: [{ targets: ["billing.*"], tenants: ["t1"], approvers: ["group:finance"], required: 2 }],
    approval_ttl_hours: 24,
    apply_when: ["manual", "approved", "scheduled"],
    on_stale: "block",
    on_moved: "block",
    on_drift: "restore",
    break_glass: { approvers: ["bo"], required: 1, review_hours: 48 },
    windows: {
      deny: [
        {
          from: "2026-12-20T00:00:00+01:00",
          to: "2027-01-04T00:00:00+01:00",
          reason: "year end",
          targets: ["billing.*"],
          tenants: ["t1"],
          yearly: true,
        },
      ],
      allow: [{ days: ["mon"], from: "09:00", to: "17:00", tz: "Europe/Berlin" }],
    },
    on_conflict: "block",
    forbidden_targets: ["billing.*"],
    stages: {
      targets: ["ui.*"],
      watch: ["errors"],
      fed_by: ["agent:pricing"],
      max_allowed: { errors: 0.1 },
      replaces_guardrails: true,
    },
    mandates: { targets: ["ui.*"], max_days: 20, max_per_day: 10, max_open: 5, apply_when: true },
    promotion: [{ to: ["tenant:t1"], from: ["system:stage"], soak_hours: 24, verdict_not: ["regressed"] }],
    targets: [
      {
        match: ["ui.*"],
        schema: { type: "number" },
        max_step: { relative: 0.05, hours: 12 },
        unit: "EUR",
        kpi_required: true,
      },
      { match: ["limits"], max_step: { absolute: 2, members: ["seats"] } },
    ],
    guardrails: [{ kpi: "csat", max_regression: 1, action: "rollback", targets: ["ui.*"], hours: 48 }],
  },
});

/** Returns the paths of all fields of a JSON value, without names that the author chooses, such as those of KPIs. */
function listFieldPaths(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const fieldPath = [...path, key];
    const isFreeName =
      Array.isArray(value) ||
      ["kpis", "principals", "policy,groups", "policy,stages,max_allowed"].includes(path.join());
    return [...(isFreeName ? [] : [fieldPath]), ...listFieldPaths(inner, fieldPath)];
  });
}

const getAtPath = (value: object, path: string[]) =>
  path.reduce((parent, key) => (parent as Record<string, object>)[key]!, value) as Record<string, unknown>;

/** Returns all spellings of a word with one error: a letter missing, doubled, wrong, swapped or in upper case. */
const listMisspellings = (word: string): string[] =>
  [...word].flatMap((letter, index) => {
    const [before, after] = [word.slice(0, index), word.slice(index + 1)];
    const next = after[0] ?? "";
    return [
      before + after,
      before + letter + letter + after,
      `${before}q${after}`,
      `${before}${next}${letter}${after.slice(1)}`,
      before + letter.toUpperCase() + after,
    ].filter((misspelling) => misspelling !== word && misspelling !== "");
  });

test("the full intent of this test has every field of the schema", () => {
  const listSchemaFields = (schema: Schema): string[] => [
    ...Object.keys(schema.properties ?? {}),
    ...[
      ...Object.values(schema.properties ?? {}),
      ...(schema.oneOf ?? []),
      schema.items,
      schema.additionalProperties,
    ].flatMap((inner) => (typeof inner === "object" ? listSchemaFields(inner) : [])),
  ];
  const usedFields = listFieldPaths(FULL_INTENT).map((path) => path.at(-1)!);
  expect(new Set(usedFields)).toEqual(new Set(listSchemaFields(intentJsonSchema() as Schema)));
});

test.each(listFieldPaths(FULL_INTENT).map((path) => [path.join("."), path] as const))(
  "%s with one letter wrong is rejected, and the error suggests the right name",
  (_, path) => {
    const field = path.at(-1)!;
    const loadMisspelt = (misspelling: string) => () => {
      const intent = structuredClone(FULL_INTENT);
      const parent = getAtPath(intent, path.slice(0, -1));
      parent[misspelling] = parent[field];
      delete parent[field];
      load(JSON.stringify(intent));
    };
    // The type of a key decides which fields it may have, so a missing type is reported first.
    // A misspelt name of two letters has no single nearest name.
    const expectedError = (misspelling: string): string => {
      if (field === "type" && path.at(-2) !== "schema") return `must have the ${field}`;
      return `${misspelling}: did you mean ${field.length > 2 ? `${field}?` : ""}`;
    };
    // These misspellings of unfreeze are one letter away from freeze, too.
    const misspellings = listMisspellings(field).filter((misspelling) => !["ufreeze", "nfreeze"].includes(misspelling));
    for (const misspelling of selectCases(misspellings, 4))
      expect(loadMisspelt(misspelling), misspelling).toThrow(expectedError(misspelling));
  },
);

test.each<[string, object, string]>([
  ["more consents than approvers", { approvers: ["ana"], required_approvers: { major: 2 } }, "major asks for 2"],
  ["one approver under two spellings", { approvers: ["Ana", "ana "], required_approvers: { standard: 2 } }, "names 1"],
  ["an empty list of approvers", { approvers: [] }, "standard asks for 1, and policy.approvers names 0"],
  [
    "more consents than owners",
    { owners: [{ targets: ["*"], approvers: ["fin", "FIN "], required: 2 }] },
    "policy.owners.0.required asks for 2, and its approvers are 1",
  ],
  [
    "more emergency consents than emergency approvers",
    { break_glass: { approvers: ["oncall", "OnCall"], required: 2 } },
    "policy.break_glass.required asks for 2, and its approvers are 1",
  ],
  [
    "an emergency that leaves nobody to review it",
    { approvers: ["ana", "bo"], break_glass: { approvers: ["ANA", "bo"], required: 2 } },
    "policy.break_glass.approvers leaves nobody to review it: of policy.approvers, which are 2, the emergency itself needs 2",
  ],
  [
    "a guardrail on a misspelt KPI",
    { guardrails: [{ kpi: "incident_rat", max_regression: 1, action: "alert" }] },
    "policy.guardrails.0.kpi is no KPI of this intent: did you mean incident_rate?",
  ],
  [
    "a guardrail on an unknown KPI",
    { guardrails: [{ kpi: "zz", max_regression: 1, action: "alert" }] },
    `policy.guardrails.0.kpi is no KPI of this intent: known are ${STANDARD_KPIS.join(", ")}`,
  ],
])("a rule that can never take effect is rejected: %s", (_, rules, reported) => {
  expect(loadWith(withPolicy(rules))).toThrow(reported);
});

test.each<[string, object, string]>([
  [
    "a policy field at the top level",
    { forbidden_targets: ["billing.*"] },
    "forbidden_targets is no field of the product intent itself: did you mean policy.forbidden_targets?",
  ],
  [
    "a KPI with a capital letter",
    { kpis: { Bad: { baseline: 4, target: 5 } } },
    "kpis.Bad: the name must be a lower-case word of letters, digits and _",
  ],
  [
    "a KPI named like a member of every object",
    { kpis: { constructor: {} } },
    "kpis.constructor: the name is a reserved word",
  ],
  ["policies", { Policies: {} }, "Policies is no field of the product intent itself: did you mean policy?"],
  ["POLICY", { POLICY: {} }, "POLICY: did you mean policy?"],
  ["an intent that is too large", { "x-note": "ä".repeat(140_000) }, "has more than 262144 bytes"],
  [
    "a target with a space",
    withPolicy({ forbidden_targets: ["billing.* "] }),
    "policy.forbidden_targets.0 must be a target",
  ],
  [
    "two targets in one text",
    withPolicy({ minor: { targets: ["ui.*,pay.*"] } }),
    "policy.minor.targets.0 must be a target",
  ],
  [
    "a model among the approvers",
    withPolicy({ approvers: ["LLM:gpt"] }),
    "policy.approvers.0 is no name that may approve",
  ],
  [
    "an agent among the approvers",
    withPolicy({ approvers: ["agent:pricing"] }),
    "policy.approvers.0 is an agent: agents never approve",
  ],
])("a rule that would have no effect is rejected: %s", (_, overrides, reported) => {
  expect(loadWith(overrides as Manifest)).toThrow(reported);
});

const person = (...keys: object[]) => ({ kind: "person", keys });
const ANA = passkey();
/** An SSH key of each kind: `sshSigner` makes one on a hardware token, or, with a plain type, one in a file. */
const [SECURITY_KEY, UNATTENDED_KEY] = [sshSigner(), sshSigner("ssh-ed25519")];
const { unattended: _, ...KEY_WITHOUT_FIELD } = UNATTENDED_KEY.key;

test.each<[string, object, string]>([
  ["one passkey of two people", { ana: person(ANA.key), bo: person(ANA.key) }, "principals.bo has the same key as ana"],
  [
    "one passkey written twice",
    { ana: person(ANA.key), bo: person({ ...ANA.key, credential_id: "AAAA" }) },
    "principals.bo has the same key",
  ],
  [
    "one SSH key under two comments",
    // A line of a .pub file ends with a comment, which is `ana` here.
    {
      ana: person(SECURITY_KEY.key),
      bo: person({ ...SECURITY_KEY.key, public_key: SECURITY_KEY.key.public_key.replace(/ ana$/, " bo") }),
    },
    "principals.bo has the same key",
  ],
  [
    "an unattended key without the field unattended",
    { ana: person(KEY_WITHOUT_FIELD) },
    "principals.ana.keys.0.unattended must be true",
  ],
  [
    "a security key with the field unattended",
    { ana: person({ ...SECURITY_KEY.key, unattended: true }) },
    "unattended is for keys that sign by themselves",
  ],
  [
    "an SSH key of type RSA",
    { ana: person({ type: "ssh", public_key: "ssh-rsa AAAA" }) },
    "must be a line of a .pub file",
  ],
  [
    "a truncated SSH key",
    { ana: person({ ...SECURITY_KEY.key, public_key: SECURITY_KEY.key.public_key.slice(0, 80) }) },
    "must be a line of a .pub file",
  ],
  [
    "a passkey that is not a public key",
    { ana: person({ ...ANA.key, public_key: "AAAA" }) },
    "must be a public key of ES256",
  ],
  ["an id with padding", { ana: person({ ...ANA.key, credential_id: "AA==" }) }, "base64url without padding"],
  ["an address as relying party", { ana: person({ ...ANA.key, rp_id: "https://a.example" }) }, "must be a host name"],
  [
    "an origin of another domain",
    { ana: person({ ...ANA.key, origins: ["https://evilgov.acme.example"] }) },
    "keys.0.origins.0 must be an https origin of gov.acme.example",
  ],
  ["an origin without https", { ana: person({ ...ANA.key, origins: ["http://gov.acme.example"] }) }, "https origin"],
  ["an origin with a path", { ana: person({ ...ANA.key, origins: ["https://gov.acme.example/"] }) }, "https origin"],
])("an unusable key is rejected: %s", (_, principals, reported) => {
  expect(loadWith({ principals })).toThrow(reported);
});

// Once a person has keys, `signed_only` is true unless the intent says otherwise.
test.each<[string, object, string]>([
  ["more signed consents than people with keys", { policy: { required_approvers: { major: 2 } } }, "major asks for 2"],
  ["approvers without keys", { policy: { approvers: ["bo"] } }, "0 of those who may approve have keys"],
  ["signed consents where no person has keys", { principals: {}, policy: { signed_only: true } }, "asks for 1 signed"],
  [
    "an emergency that leaves nobody with a key to review it",
    { policy: { break_glass: { approvers: ["ana"] } } },
    "of those with keys who may approve, which are 1, the emergency itself needs 1",
  ],
])("a quorum that signed consents cannot reach is rejected: %s", (_, overrides, reported) => {
  expect(loadWith({ principals: { ana: person(ANA.key), bo: person() }, ...overrides })).toThrow(reported);
});

test.each<[string, object]>([
  [
    "one of two approvers is enough for the emergency",
    { approvers: ["ana", "bo"], break_glass: { approvers: ["ana", "bo"] } },
  ],
  ["another person is named for emergencies", { approvers: ["ana"], break_glass: { approvers: ["ana", "oncall"] } }],
  ["the intent names no approvers", { break_glass: { approvers: ["oncall"] } }],
  [
    "owners of every target may approve",
    { approvers: ["ana"], owners: [{ targets: ["*"], approvers: ["fin"] }], break_glass: { approvers: ["ana"] } },
  ],
])("an emergency can be reviewed where %s", (_, rules) => {
  expect(loadWith(withPolicy(rules))).not.toThrow();
});

test("signed_only: false accepts unsigned consents although people have keys", () => {
  const rules = { required_approvers: { major: 2 }, signed_only: false };
  expect(loadWith({ principals: { ana: person(ANA.key) }, policy: rules })).not.toThrow();
});

test("__proto__ is rejected at any level", () => {
  const text = JSON.stringify(manifest({ kpis: { csat: { baseline: 4, target: 5 } } }));
  expect(() => load(text.replace('"csat"', '"__proto__"'))).toThrow("must not name __proto__");
});

test.each(["ops", "keys", "owner", "tenant", "x-is", "$schema"])(
  "the unknown field %s is accepted at the top level",
  (field) => {
    expect(loadWith({ [field]: ["anything"] })).not.toThrow();
  },
);

test("the published JSON Schema is current, accepts the example and rejects a misspelt field", async () => {
  const schema = intentJsonSchema();
  const published = JSON.parse(await readFile(join(ROOT, "docs/product_intent.schema.json"), "utf8"));
  expect(published, `the schema is now ${JSON.stringify(schema)}`).toEqual(schema);
  const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  const example = JSON.parse(await readFile(join(ROOT, "local/example/product_intent.json"), "utf8"));
  expect(accepts(example), JSON.stringify(accepts.errors)).toBe(true);
  expect(accepts({ ...example, "x-note": 1, policy: { "x-note": 1 } })).toBe(true);
  expect(accepts({ ...example, policy: { forbiden_targets: [] } })).toBe(false);
});

test("the rules in force are described as they are enforced, also those that forbid nothing", () => {
  expect(describeRules(load(JSON.stringify(FULL_INTENT)).intent)).toEqual([
    'a change of config on ui.* for tenant "t1" may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: at most 5 people, low risk, at most 2 a day, an agent\'s proposal too, also where it applies by itself, no target that has owners, only of a proposer who is known by a signature, the proxy or a secret',
    "a standard change needs 1 consent, a major one 2 consents",
    'only "ana", "bo" may approve or deny; owners may also approve or deny changes of their own targets',
    '"ana", "bo" must sign what they decide, and only signed consents count',
    "nobody may approve their own change",
    "a change that waits for consent longer than 72 hours expires",
    "an approved change that is not applied within 24 hours lapses",
    "a proposal may ask to be applied by itself once it is approved or at a time, which a window, a freeze or a busy target postpones for at most 24 hours",
    "an apply is rejected when another change was applied on its target since the last consent",
    "an apply is rejected when a target holds another value than a consent saw, and each consent must say what it saw",
    "a value that was changed outside Countersign is restored by the next cycle, three times an hour at most",
    'in an emergency 1 consent of "bo" suffices and passes windows and a freeze, to be reviewed within 48 hours',
    'no change of billing.* for tenant "t1" is applied from 2026-12-20T00:00:00+01:00 to 2027-01-04T00:00:00+01:00 and on these days of every later year: year end',
    "changes are applied on mon from 09:00 to 17:00 in Europe/Berlin",
    "a proposal on a target that has a live change is rejected",
    "nobody may change billing.*",
    'a change of ui.* may be rolled out in steps; it must watch errors; only "agent:pricing" may feed it; it may allow a loss of errors by 0.1 at most; guardrails do not act on it for a KPI that it watches and whose loss max_allowed limits',
    "people may sign a mandate, under which an agent's changes of ui.* need no further consent: for 20 days, 10 changes a UTC day and 5 open ones at most, also where they apply by themselves",
    "before a change is applied in tenant:t1, the same value must be applied in system:stage for 24 hours by a change whose outcome is not regressed",
    'a value of ui.* must match {"type":"number"}',
    "a value of ui.* may differ by 0.05 of it at most from what the target held 12 hours before; a first value is not minor",
    "a change of ui.* must name the KPI that it is to move",
    "each of seats in a value of limits may differ by 2 at most from what the target held 24 hours before; a first value is not minor",
    "the newest applied change of ui.*, whatever KPI it names, is watched for 48 hours if it is reversible: when a feed shows csat worse by more than 1 than at its apply, it is rolled back",
    "goals are set for csat",
    'only "ana", "bo", "policy:apply_when" may: apply',
    'only "bo" may: roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes, lift a freeze, accept a clock, accept a loss',
    'only "ana" may: erase contents',
    "a name that is only claimed satisfies no list of policy.permissions",
    'group:finance stands for "ana", "bo"',
    'known as people are "ana", "bo"',
    'agents with a secret of their own, which propose and withdraw only, are "agent:pricing" (only config, only on ui.*, only for tenant "t1", 5 open changes and 50 proposals a UTC day at most, reads only what it proposed, where reads are protected)',
  ]);
  expect(describeRules(load(JSON.stringify(manifest())).intent)).toEqual([
    "no change is minor",
    "a standard change needs 1 consent, a major one 1 consent",
    "anybody may approve or deny",
    "no consent needs a signature",
    "a proposer may approve their own change",
    "a change waits for consent as long as it takes",
    "several live changes on one target are reported only",
    "no target is forbidden",
    "no KPI has a goal",
    "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes, lift a freeze, erase contents, accept a clock, accept a loss",
    "the intent names nobody: names are taken at their word",
  ]);
});

const describePolicy = (rules: object) => describeRules(load(JSON.stringify(manifest(withPolicy(rules)))).intent);
const findPolicyContradictions = (rules: object) =>
  findContradictions(load(JSON.stringify(manifest(withPolicy(rules)))).intent, Date.UTC(2026, 11, 1));

test("a major change needs at least as many consents as a standard change", () => {
  const required = (required_approvers: object) =>
    load(JSON.stringify(manifest(withPolicy({ required_approvers })))).intent.policy.required_approvers;
  expect(required({ standard: 2 })).toEqual({ standard: 2, major: 2 });
  expect(required({ major: 3 })).toEqual({ standard: 1, major: 3 });
  expect(loadWith(withPolicy({ required_approvers: { standard: 2, major: 1 } }))).toThrow(
    "policy.required_approvers.major is 1, below 2 for a standard change",
  );
});

describe("a pattern that matches no target is rejected", () => {
  const PATTERN_FIELDS: [string, (pattern: string) => object][] = [
    ["policy.forbidden_targets.0", (pattern) => ({ forbidden_targets: [pattern] })],
    ["policy.owners.0.targets.0", (pattern) => ({ owners: [{ targets: [pattern], approvers: ["fin"] }] })],
    ["policy.minor.targets.0", (pattern) => ({ minor: { kinds: ["config"], targets: [pattern] } })],
  ];
  test.each(PATTERN_FIELDS)("in %s", (field, rules) => {
    for (const pattern of ["/billing/*", "billing/", ".env*", "_x.*", "-a", ":a", "a/../b", "*/..", "a/./b", "/"])
      expect(loadWith(withPolicy(rules(pattern))), pattern).toThrow(`${field} matches no target, since no target`);
    for (const pattern of ["*", "billing/*", "*.env", "a..b", "*..", "a/..b", "a/*/..*"])
      expect(loadWith(withPolicy(rules(pattern))), pattern).not.toThrow();
  });

  test("and the error shows a valid target and suggests a pattern", () => {
    const forbidden = (pattern: string) => loadWith(withPolicy({ forbidden_targets: [pattern] }));
    expect(forbidden("/billing/*")).toThrow("begins with /; a target is like billing.plan or ui/banner");
    expect(forbidden("/billing/*")).toThrow("did you mean billing/*?");
    expect(forbidden("billing/")).toThrow("did you mean billing/*?");
    expect(forbidden("_x.*")).not.toThrow("did you mean");
  });
});

describe("a name that cannot be the name of one person in a request is rejected", () => {
  const NAMES = ["ana@x, bo@x", "*", "*@acme.example", "@acme/team", " @acme", "Ana <ana@x>", "ana\u200b", "a\u0007b"];
  const RESERVED = [
    "llm:m",
    "Policy:x",
    "mandate:1",
    "idp:release",
    "group:finance",
    "peer:x",
    "agent:a",
    // With a full-width g.
    "\uff47roup:x",
  ];
  test.each([...NAMES, ...RESERVED])("%j", (name) => {
    expect(loadWith(withPolicy({ approvers: [name, "bo"] }))).toThrow("policy.approvers.0 ");
    expect(loadWith(withPolicy({ owners: [{ targets: ["*"], approvers: [name] }] }))).toThrow(
      "policy.owners.0.approvers.0 ",
    );
    expect(loadWith(withPolicy({ break_glass: { approvers: [name] } }))).toThrow("policy.break_glass.approvers.0 ");
  });
});

test("the error about an unknown field lists the known ones if none is similar", () => {
  expect(loadWith(withPolicy({ freeze: true }))).toThrow(/policy has no field freeze: known are minor, /);
  expect(loadWith(withPolicy({ freeze: true }))).not.toThrow("did you mean");
  const principals = { bo: { kind: "person", email: "bo@acme.example" } };
  expect(loadWith({ principals })).toThrow("principals.bo has no field email: known are kind, keys");
});

test("the error about an unknown field names the inner object that has the field", () => {
  const principals = { "agent:x": { kind: "agent", token_sha256: "ab".repeat(32), targets: ["*"] } };
  expect(loadWith({ principals })).toThrow("principals.agent:x has no field targets: did you mean may.targets?");
});

test("owned or forbidden targets in policy.minor are reported and not described as minor", () => {
  const rules = {
    minor: { kinds: ["config"], targets: ["price.*", "auth.x", "ui.*"] },
    owners: [{ targets: ["price.*"], approvers: ["cfo"] }],
    forbidden_targets: ["auth.*"],
  };
  expect(findPolicyContradictions(rules)).toEqual([
    "policy.minor.targets.0 price.* has no effect: the targets have owners, and so are never minor",
    "policy.minor.targets.1 auth.x has no effect: forbidden_targets covers it",
  ]);
  expect(describePolicy(rules)[0]).toMatch(/^a change of config on ui\.\* may be minor, .*no target that has owners/);
  const owned = { ...rules, minor: { kinds: ["config"], targets: ["price.list"] } };
  expect(describePolicy(owned)[0]).toBe("no change is minor: every target of policy.minor has owners or is forbidden");
});

test("minor changes without kinds or targets are reported as without effect", () => {
  expect(findPolicyContradictions({ minor: { kinds: ["config"] } })).toEqual([
    "policy.minor has no effect: it names no targets",
  ]);
  expect(findPolicyContradictions({ minor: { kinds: ["config"], targets: ["ui.*"] } })).toEqual([]);
});

test("a window that has ended is reported unless it is yearly", () => {
  const period = { from: "2025-12-20T00:00:00Z", to: "2026-01-06T00:00:00Z" };
  expect(findPolicyContradictions({ windows: { deny: [period, { ...period, yearly: true }] } })).toEqual([
    "policy.windows.deny.0 has no effect any more: it ended at 2026-01-06T00:00:00Z",
  ]);
});

test("owners of forbidden targets are reported and not described as needed", () => {
  const rules = { owners: [{ targets: ["auth.*", "ui.*"], approvers: ["sec"] }], forbidden_targets: ["auth.*"] };
  expect(findPolicyContradictions(rules)).toEqual([
    "policy.owners.0.targets.0 auth.* has no effect: forbidden_targets covers it",
  ]);
  const owners = describePolicy(rules).filter((rule) => rule.includes('"sec"'));
  expect(owners).toHaveLength(1);
  expect(owners[0]).toMatch(/^among the consents to a change of ui\.\* must be 1 of "sec"/);
});

test("an approval that expires within a deny window is reported", () => {
  const deny = [{ from: "2026-12-20T00:00:00Z", to: "2027-01-06T00:00:00Z" }];
  expect(findPolicyContradictions({ approval_ttl_hours: 72, windows: { deny } })).toEqual([
    "policy.approval_ttl_hours is 72, and policy.windows.deny.0 lasts 408 hours: a change approved at its beginning lapses before it can be applied",
  ]);
  expect(findPolicyContradictions({ approval_ttl_hours: 408, windows: { deny } })).toEqual([]);
});

test("the described rules state if an owner's consent also counts for the quorum", () => {
  const owners = [{ targets: ["price.*"], approvers: ["cfo"] }];
  const describeOwners = (rules: object) => describePolicy(rules).find((rule) => rule.startsWith("among"));
  expect(describeOwners({ owners, approvers: ["ana", "cfo"] })).toMatch(/counts for this and for the tier's number$/);
  expect(describeOwners({ owners, approvers: ["ana"] })).toMatch(/these do not count for the tier's number$/);
});

test("under signed_only an approver without a key is described as unable to decide", () => {
  const { intent } = load(
    JSON.stringify(manifest({ principals: { ana: person(ANA.key) }, policy: { approvers: ["ana", "bo"] } })),
  );
  expect(describeRules(intent)[2]).toBe('only "ana" may approve or deny; "bo" without a key cannot');
});
