/** Tests how the verifier parses an intent and JSON, and which changes it accepts as minor. */
import { expect, test } from "vitest";
import {
  isMinor,
  listTenantTargets,
  matchesAny,
  canDecide,
  canProposeMinor,
  parseIntent,
} from "../../../local/verify/intent.ts";
import { hasRepeatedMember, parseJson, parseObject } from "../../../local/verify/json.ts";
import { passkey } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";

type Detail = Record<string, unknown>;
const read = (policy: Detail = {}, over: Detail = {}) => parseIntent({ policy, ...over });
const MINOR = { kinds: ["config"], targets: ["ui.*"] };

test.each<[what: string, policy: Detail, otherFields: Detail, expected: object]>([
  ["no approvers", {}, {}, { approvers: undefined, required: { standard: 1, major: 1 } }],
  ["approvers in capitals", { approvers: ["Ana"] }, {}, { approvers: ["ana"] }],
  ["a group", { groups: { eu: ["Bo", "cy"] }, approvers: ["ana", "group:eu"] }, {}, { approvers: ["ana", "bo", "cy"] }],
  ["an empty group", { groups: { eu: null }, approvers: ["group:eu"] }, {}, { approvers: [] }],
  [
    "a quorum of standard changes",
    { required_approvers: { standard: 2 } },
    {},
    { required: { standard: 2, major: 2 } },
  ],
  ["a quorum of major changes", { required_approvers: { major: 3 } }, {}, { required: { standard: 1, major: 3 } }],
  ["no other rules", {}, {}, { selfApproval: true, signedOnly: false, emergency: undefined, minor: undefined }],
  ["no self-approval", { self_approval: false }, {}, { selfApproval: false }],
  ["signatures alone", { signed_only: true }, {}, { signedOnly: true }],
  ["a person with a key", {}, { principals: { Ana: person(passkey()) } }, { signedOnly: true }],
  ["a person without keys", {}, { principals: { ana: { kind: "person" } } }, { signedOnly: false }],
  [
    "keys that need not sign",
    { signed_only: false },
    { principals: { ana: person(passkey()) } },
    { signedOnly: false },
  ],
  ["an agent", {}, { principals: { "Agent:X": { kind: "agent" } } }, { agents: new Set(["agent:x"]) }],
  [
    "groups of a person",
    {},
    { principals: { Ana: { kind: "person", idp: ["g"] } } },
    { idpGroups: new Map([["ana", ["g"]]]) },
  ],
  ["a person of no group", {}, { principals: { ana: { kind: "person" } } }, { idpGroups: new Map([["ana", []]]) }],
  [
    "an emergency",
    { break_glass: { approvers: ["Bo"], required: 2 } },
    {},
    { emergency: { approvers: ["bo"], required: 2 } },
  ],
  ["an emergency without members", { break_glass: {} }, {}, { emergency: { approvers: [], required: 1 } }],
  [
    "owners",
    { owners: [{ targets: ["a"], approvers: ["Bo"], required: 2, tenants: [" e\u0301 "] }, {}] },
    {},
    {
      ownerRules: [
        { targets: ["a"], approvers: ["bo"], required: 2, tenants: ["\u00e9"] },
        { targets: [], approvers: [], required: 1, tenants: undefined },
      ],
    },
  ],
  [
    "mandates",
    { mandates: {} },
    {},
    { mandates: { targets: [], maxDays: 30, maxPerDay: 50, maxOpen: 20, automatic: false } },
  ],
  [
    "bounds of mandates",
    { mandates: { targets: ["a"], max_days: 0.5, max_per_day: 1, max_open: 2, apply_when: true } },
    {},
    { mandates: { targets: ["a"], maxDays: 0.5, maxPerDay: 1, maxOpen: 2, automatic: true } },
  ],
  [
    "directions",
    {},
    { kpis: { a: { baseline: 1, target: 1 }, b: { baseline: 1, target: 0 } } },
    {
      directions: new Map([
        ["a", 1],
        ["b", -1],
      ]),
    },
  ],
  ["bounded rollouts", { stages: { watch: ["a"], fed_by: [], max_allowed: { a: 1 } } }, {}, { boundsRollouts: true }],
  ["rollouts of any feeder", { stages: { watch: ["a"], max_allowed: { a: 1 } } }, {}, { boundsRollouts: false }],
  ["rollouts that watch nothing", { stages: { fed_by: ["x"], max_allowed: { a: 1 } } }, {}, { boundsRollouts: false }],
  [
    "rollouts that limit one of two",
    { stages: { watch: ["a", "b"], fed_by: ["x"], max_allowed: { a: 1 } } },
    {},
    { boundsRollouts: false },
  ],
  ["rollouts without limits", { stages: { watch: ["a"], fed_by: ["x"] } }, {}, { boundsRollouts: false }],
  [
    "minor changes",
    { minor: {} },
    {},
    {
      minor: {
        kinds: [],
        targets: [],
        tenants: undefined,
        maxUsers: Infinity,
        maxRisk: 0,
        agents: false,
        automatic: false,
      },
    },
  ],
  // The risks low, medium and high are the numbers 0, 1 and 2.
  [
    "minor changes of agents",
    { minor: { ...MINOR, max_affected_users: 0, max_risk: "high", agents: true, apply_when: true } },
    {},
    { minor: { ...MINOR, tenants: undefined, maxUsers: 0, maxRisk: 2, agents: true, automatic: true } },
  ],
])("an intent with %s is read", (_, policy, over, expected) => {
  expect(read(policy, over)).toMatchObject(expected);
});

test.each<[field: string, policy: unknown, otherFields?: Detail]>([
  ["policy", undefined, { policy: [] }],
  ["owners", { owners: {} }],
  ["owners", { owners: [5] }],
  ["approvers", { approvers: "ana" }],
  ["approvers", { approvers: ["ana", 5] }],
  ["approvers", { approvers: ["group:eu"] }],
  ["major", { required_approvers: { standard: 2, major: 1 } }],
  ["standard", { required_approvers: { standard: 0 } }],
  ["standard", { required_approvers: { standard: 1.5 } }],
  ["required_approvers", { required_approvers: 5 }],
  ["signed_only", { signed_only: "yes" }],
  ["max_days", { mandates: { max_days: "5" } }],
  ["max_open", { mandates: { max_open: 0 } }],
  ["max_risk", { minor: { max_risk: "none" } }],
  ["max_affected_users", { minor: { max_affected_users: -1 } }],
  ["watch", { stages: { watch: "a" } }],
  ["kpis", {}, { kpis: { a: { baseline: 1 } } }],
  ["kpis", {}, { kpis: { a: { target: 1 } } }],
  ["kpis", {}, { kpis: { a: 5 } }],
])("an intent with wrong %s is rejected", (name, policy, over = {}) => {
  expect(() => read(policy as Detail, over)).toThrow(new TypeError(name));
});

const CONTENT = {
  ...{ kind: "config", tenant_id: "t1", target: "ui.a", affected_users: 5 },
  ...{ risk: "medium", reversible: true },
};
const rule = { minor: { ...MINOR, tenants: ["t1"], max_affected_users: 5, max_risk: "medium" } };
const set = (over: Detail) => ({ tenant_id: "t1", target: "ui.b", ...over });

test.each<[which: string, isMinor: boolean, content?: Detail, policy?: Detail, isErased?: boolean]>([
  ["within all bounds", true],
  ["under an intent that has no minor changes", false, {}, { minor: undefined }],
  ["of another kind", false, { kind: "workflow" }],
  ["of no kind", false, { kind: undefined }],
  ["of another target", false, { target: "price.a" }],
  ["without a target", false, { target: undefined }],
  ["of another tenant", false, { tenant_id: "t2" }],
  ["of any tenant", true, { tenant_id: "t2" }, { minor: { ...rule.minor, tenants: undefined } }],
  ["of a plan", true, { sets: [set({})] }],
  ["of a plan of which one is outside", false, { sets: [set({}), set({ target: "price.a" })] }],
  ["of a plan of another tenant", false, { sets: [set({ tenant_id: "t2" })] }],
  ["of a target with owners", false, {}, { ...rule, owners: [{ targets: ["ui.*"], approvers: ["ana"] }] }],
  [
    "of a plan with owners",
    false,
    { sets: [set({})] },
    { ...rule, owners: [{ targets: ["ui.b"], approvers: ["ana"] }] },
  ],
  ["of a target with owners elsewhere", true, {}, { ...rule, owners: [{ targets: ["ui.*"], tenants: ["t2"] }] }],
  ["of more users", false, { affected_users: 6 }],
  ["of unknown users", false, { affected_users: null }],
  // An erasure replaces the number of users by null, and leaves nothing to compare.
  ["that was erased", true, { affected_users: null }, rule, true],
  ["that was erased and has users", false, {}, rule, true],
  ["of high risk", false, { risk: "high" }],
  ["of low risk", true, { risk: "low" }],
  ["of no risk", false, { risk: undefined }],
  ["that is not reversible", false, { reversible: false }],
  ["that applies itself", false, { apply_when: "approved" }],
  ["that may apply itself", true, { apply_when: "approved" }, { minor: { ...rule.minor, apply_when: true } }],
])("a change %s is minor: %s", (_, expected, content = {}, policy = rule, isErased = false) => {
  expect(isMinor({ ...CONTENT, ...content }, isErased, read(policy))).toBe(expected);
});

test.each<[name: string, decides: boolean, proposes: boolean, withAgents: boolean]>([
  ["ana", true, true, true],
  ["bo", false, true, true],
  ["agent:x", false, false, true],
  ["robot", false, false, true],
  ["llm:gpt", false, false, false],
])("%s may decide: %s, propose minor changes: %s, also where agents may: %s", (name, decides, proposes, withAgents) => {
  const principals = { robot: { kind: "agent" } };
  expect(canDecide(name, read({ approvers: ["ana", "robot"] }, { principals }))).toBe(decides);
  expect(canProposeMinor(name, read({ minor: MINOR }, { principals }))).toBe(proposes);
  expect(canProposeMinor(name, read({ minor: { ...MINOR, agents: true } }, { principals }))).toBe(withAgents);
});

test.each<[string, string[], boolean]>([
  ["ui.a", ["ui.a"], true],
  ["UI.A", ["x", "ui.*"], true],
  ["ui.a", ["UI.*"], true],
  ["ui.a", [], false],
  ["ui.ab", ["ui.a"], false],
  ["ui.a", ["*"], true],
  ["", ["*"], true],
  ["ui.a.b", ["ui.*.b"], true],
  ["ui.b", ["ui.*.b"], false],
  ["xui.a.b", ["ui.*.b"], false],
  ["ui.a.c", ["ui.*.b"], false],
  ["a.b.c.d", ["a*b*d"], true],
  ["a.c.d", ["a*b*d"], false],
  ["abd", ["a*b*bd"], false],
  ["aba", ["ab*ba"], false],
])("%s matches one of %j: %s", (target, patterns, expected) => {
  expect(matchesAny(target, patterns)).toBe(expected);
});

test.each<[string, Detail, unknown]>([
  ["sets that are no list", { sets: "x" }, undefined],
  ["an entry that is null", { sets: [null] }, undefined],
  ["an entry without a tenant", { sets: [{ target: "b" }] }, undefined],
  ["a target alone", {}, [{ tenant: "t1", target: "a" }]],
])("the targets of a content with %s", (_, over, expected) => {
  expect(listTenantTargets({ tenant_id: "t1", target: "a", ...over })).toEqual(expected);
});

const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const wide = `[${Array.from({ length: 150 }, () => "{}").join(",")}]`;

test.each<[string, string, boolean]>([
  ["100 levels", deep(100), true],
  ["101 levels", deep(101), false],
  ["101 levels of objects", `${'{"a":'.repeat(101)}1${"}".repeat(101)}`, false],
  ["many objects side by side", wide, true],
  ["brackets in text", `["${"[".repeat(150)}"]`, true],
  ["brackets behind an escaped quote", `["\\"${"[".repeat(150)}"]`, true],
  ["half a character", '"\\ud800"', false],
  ["half a character of a member", '{"a":["\\ud800"]}', false],
  ["half a character in a name", '{"\\uD800":1}', false],
  ["a whole character, escaped", '"\\ud83d\\ude00"', true],
  ["nothing but text with escapes", '[null,1,"\\ud83d\\ude00"]', true],
  ["no JSON", "{", false],
])("JSON with %s is read, or not", (_, text, isRead) => {
  if (isRead) expect(parseJson(text)).toEqual(JSON.parse(text));
  else expect(() => parseJson(text)).toThrow(SyntaxError);
});

test.each<[string, unknown]>([
  ['{"a":1}', { a: 1 }],
  ["[1]", undefined],
  ["null", undefined],
  ["{", undefined],
])("%s is parsed as an object or rejected", (text, expected) => {
  expect(parseObject(text)).toEqual(expected);
});

test.each<[string, boolean]>([
  ['{"a":1,"b":{"a":1}}', false],
  ['{"a":1,"a":1}', true],
  ['[{"a":1,"b":2},{"a" : 1}]', false],
  ['[[{"a":1,"\\u0061":1}]]', true],
  ['{"a":"a","b":["\\"a\\":"]}', false],
  ["[1]", false],
])("%s has a member twice: %s", (text, expected) => {
  expect(hasRepeatedMember(text)).toBe(expected);
});
