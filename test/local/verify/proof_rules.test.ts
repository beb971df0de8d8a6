/** Tests which statement each signed event needs, and whose keys may sign it. */
import { expect, test } from "vitest";
import { createProofCheck } from "../../../local/verify/proofs.ts";
import { fingerprint, parseKeys } from "../../../local/verify/policy.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";

type Detail = Record<string, unknown>;

const [ANA, EVE, PHONE] = [sshSigner(), sshSigner(), passkey()];
const POLICY = parseKeys({ ana: { keys: [PHONE.key, ANA.key] }, bo: {} });
/** Returns the fingerprint of a key, by which entries name it. */
const idOf = (key: { public_key: string; type: string }): string =>
  fingerprint(
    key.type === "ssh"
      ? Buffer.from(key.public_key.split(" ")[1]!, "base64")
      : Buffer.from(key.public_key, "base64url"),
  );
const KEY = idOf(ANA.key);
const AT = "2026-01-01T00:00:00.000Z";

const makeEntry = (eventType: string, detail: Detail) =>
  ({ id: 7, eventType, changeId: "c1", origin: "log", timestamp: AT, detail: JSON.stringify(detail) }) as never;

/** Writes the canonical text of a statement: its own members, and those that all statements have. */
const writeStatement = (members: Detail): string => {
  const all = { v: "countersign-consent/1", origin: "log", note: "", manifest_hash: "m", at: AT, ...members };
  return JSON.stringify(Object.fromEntries(Object.entries(all).sort()));
};

const PLACE = { place: "", system: "file", target: "ui", tenant_id: "*" };
/** Returns the proposal of change `c1`, whose members each consent to it states. */
const makeProposals = (): Map<string, never> =>
  new Map([["c1", { places: [PLACE], apply_when: "approved" }]]) as Map<string, never>;

/** Returns the finding about an entry whose statement Ana signed; undefined: it is accepted. */
function findFault(eventType: string, detail: Detail, statement: Detail | string): string | undefined {
  const text = typeof statement === "string" ? statement : writeStatement(statement);
  const signed = { manifest_hash: "m", ...detail, statement: text, proof: ANA.sign(text), key: KEY };
  const check = createProofCheck(POLICY, makeProposals());
  const finding = check.check(makeEntry(eventType, signed), 1);
  expect(check.proofs.verified).toBe(finding ? 0 : 1);
  return finding?.message;
}

const MISMATCH = "its statement does not match the entry";
const BY_ANA = { approver: "ana" };
/** Members of statements about change `c1`. In all but an erasure the signer is the `approver`, also if the entry has an `actor`. */
const ON_CHANGE = { approver: "ana", change_id: "c1", digest: "d" };
const CONSENT = { ...ON_CHANGE, places: [PLACE], apply_when: "approved" };
const approval = (more: Detail = {}) => ({ ...BY_ANA, decision: "approved", digest: "d", ...more });

/** Each event with its detail and what Ana had to sign. */
const SIGNED: [event: string, detail: Detail, statement: Detail][] = [
  ["consent_decision", approval(), { ...CONSENT, decision: "approve" }],
  ["consent_decision", approval({ note: "ok" }), { ...CONSENT, decision: "approve", note: "ok" }],
  ["consent_decision", approval({ emergency: true }), { ...CONSENT, decision: "approve_emergency" }],
  ["consent_decision", approval({ seen: ["mail"] }), { ...CONSENT, decision: "approve", seen: ["mail"] }],
  ["consent_decision", approval({ seen: [] }), { ...CONSENT, decision: "approve", seen: [] }],
  ["consent_decision", approval({ decision: "denied" }), { ...ON_CHANGE, decision: "deny" }],
  ["consent_decision", approval({ decision: "denied", emergency: true }), { ...ON_CHANGE, decision: "deny" }],
  ["consent_decision", approval({ decision: "withdrawn" }), { ...ON_CHANGE, decision: "withdraw" }],
  ["consent_decision", approval({ decision: "revoked", seen: ["mail"] }), { ...ON_CHANGE, decision: "revoke" }],
  ["change_proposed", { proposer: "ana", digest: "d" }, { ...BY_ANA, decision: "propose", digest: "d" }],
  [
    "emergency_reviewed",
    { ...BY_ANA, digest: "d", verdict: "accepted" },
    { ...ON_CHANGE, decision: "review", verdict: "accepted" },
  ],
  ["note_added", { actor: "ana", digest: "d", item: "kpi" }, { ...ON_CHANGE, decision: "note", item: "kpi" }],
  ["value_restored", { actor: "ana", digest: "d" }, { ...ON_CHANGE, decision: "restore" }],
  ["change_applied", { actor: "ana", digest: "d" }, { ...ON_CHANGE, decision: "apply" }],
  ["change_apply_failed", { actor: "ana", digest: "d" }, { ...ON_CHANGE, decision: "apply" }],
  ["change_rolled_back", { actor: "ana", digest: "d" }, { ...ON_CHANGE, decision: "rollback" }],
  [
    "change_rolled_back",
    { actor: "ana", digest: "d", over_drift: true },
    { ...ON_CHANGE, decision: "rollback", over_drift: true },
  ],
  ["change_rollback_failed", { actor: "ana", digest: "d" }, { ...ON_CHANGE, decision: "rollback" }],
  ["service_frozen", { actor: "ana" }, { actor: "ana", decision: "freeze" }],
  ["service_frozen", { actor: "ana", until: AT }, { actor: "ana", decision: "freeze", until: AT }],
  ["service_frozen", { actor: "ana", until: null }, { actor: "ana", decision: "freeze" }],
  ["service_unfrozen", { actor: "ana" }, { actor: "ana", decision: "unfreeze" }],
  ["clock_accepted", { actor: "ana" }, { actor: "ana", decision: "accept_clock" }],
  [
    "loss_accepted",
    { actor: "ana", length: 0, head: "h" },
    { actor: "ana", decision: "accept_loss", length: 0, head: "h" },
  ],
  ["content_erased", { actor: "ana", digest: "d" }, { actor: "ana", decision: "erase", change_id: "c1", digest: "d" }],
  [
    "kpi_refreshed",
    { actor: "ana", values: { a: 1, b: -0.5 } },
    { actor: "ana", decision: "feed_kpis", kpis: { a: 1, b: -0.5 } },
  ],
  [
    "stage_advanced",
    { actor: "ana", digest: "d", step: 1 },
    { ...ON_CHANGE, decision: "stage", action: "advance", step: 1 },
  ],
  [
    "stage_resumed",
    { actor: "ana", digest: "d", step: 1 },
    { ...ON_CHANGE, decision: "stage", action: "resume", step: 1 },
  ],
  ["stage_held", { actor: "ana", digest: "d", step: 2 }, { ...ON_CHANGE, decision: "stage", action: "hold", step: 2 }],
  // The rollout may have advanced since the person signed the hold.
  ["stage_held", { actor: "ana", digest: "d", step: 2 }, { ...ON_CHANGE, decision: "stage", action: "hold", step: 0 }],
];

test.each(SIGNED)("%s with %j needs the statement with %j", (event, detail, statement) => {
  expect(findFault(event, detail, statement)).toBeUndefined();
});

test.each(SIGNED)(
  "%s with %j: the statement %j with a member more, less or other is rejected",
  (event, detail, statement) => {
    expect(findFault(event, detail, { ...statement, extra: "x" })).toBe(MISMATCH);
    for (const name of Object.keys(statement)) {
      const { [name]: _, ...less } = statement;
      expect(findFault(event, detail, less), `without ${name}`).toBe(MISMATCH);
      expect(findFault(event, detail, { ...statement, [name]: "other" }), `another ${name}`).toBe(MISMATCH);
    }
    for (const name of ["v", "origin", "note", "manifest_hash"])
      expect(findFault(event, detail, { ...statement, [name]: "other" }), `another ${name}`).toBe(MISMATCH);
  },
);

test.each<[what: string, event: string, detail: Detail, statement: Detail]>([
  [
    "a hold above the step",
    "stage_held",
    { actor: "ana", digest: "d", step: 2 },
    { ...ON_CHANGE, decision: "stage", action: "hold", step: 3 },
  ],
  [
    "a hold below step 0",
    "stage_held",
    { actor: "ana", digest: "d", step: 2 },
    { ...ON_CHANGE, decision: "stage", action: "hold", step: -1 },
  ],
  [
    "an advance to an earlier step",
    "stage_advanced",
    { actor: "ana", digest: "d", step: 2 },
    { ...ON_CHANGE, decision: "stage", action: "advance", step: 1 },
  ],
  [
    "a step that is no integer",
    "stage_advanced",
    { actor: "ana", digest: "d", step: 1.5 },
    { ...ON_CHANGE, decision: "stage", action: "advance", step: 1.5 },
  ],
  [
    "a length that is no integer, with a head in a list",
    "loss_accepted",
    { actor: "ana", length: "0", head: ["h"] },
    { actor: "ana", decision: "accept_loss", length: "0", head: ["h"] },
  ],
  [
    "a negative length",
    "loss_accepted",
    { actor: "ana", length: -1, head: "h" },
    { actor: "ana", decision: "accept_loss", length: -1, head: "h" },
  ],
  [
    "over_drift that is false",
    "change_rolled_back",
    { actor: "ana", digest: "d", over_drift: false },
    { ...ON_CHANGE, decision: "rollback", over_drift: false },
  ],
  [
    "a KPI that is no number",
    "kpi_refreshed",
    { actor: "ana", values: { a: 1, b: "2" } },
    { actor: "ana", decision: "feed_kpis", kpis: { a: 1, b: "2" } },
  ],
  [
    "KPIs in a list",
    "kpi_refreshed",
    { actor: "ana", values: [1] },
    { actor: "ana", decision: "feed_kpis", kpis: [1] },
  ],
  ["a note that is no text", "consent_decision", approval({ note: 1 }), { ...CONSENT, decision: "approve", note: 1 }],
  [
    "seen values that are no texts",
    "consent_decision",
    approval({ seen: ["mail", 1] }),
    { ...CONSENT, decision: "approve", seen: ["mail", 1] },
  ],
  [
    "seen values in no list",
    "consent_decision",
    approval({ seen: true }),
    { ...CONSENT, decision: "approve", seen: true },
  ],
])("%s is rejected, even where entry and statement agree", (_, event, detail, statement) => {
  expect(findFault(event, detail, statement)).toBe(MISMATCH);
});

test.each<[string, unknown]>([
  ["are no list", {}],
  ["have one that is no object", [PLACE, "x"]],
  ["have one with another member", [PLACE, { ...PLACE, value: "x" }]],
  ["have one without a member", [PLACE, { ...PLACE, system: undefined }]],
  ["have one with a number", [PLACE, { ...PLACE, target: 1 }]],
])("a consent to a proposal whose places %s is rejected", (_, places) => {
  const statement = writeStatement({ ...CONSENT, decision: "approve", places });
  const detail = { ...approval(), manifest_hash: "m", statement, proof: ANA.sign(statement), key: KEY };
  const proposals = new Map([["c1", { places, apply_when: "approved" }]]);
  expect(createProofCheck(POLICY, proposals).check(makeEntry("consent_decision", detail), 1)?.message).toBe(MISMATCH);
});

test("the facts of a proposal are those of its first entry", () => {
  const check = createProofCheck(POLICY);
  const propose = (places: unknown) => check.check(makeEntry("change_proposed", { places, apply_when: "approved" }), 1);
  expect([propose([PLACE]), propose([])]).toEqual([undefined, undefined]);
  const statement = writeStatement({ ...CONSENT, decision: "approve" });
  const detail = { ...approval(), manifest_hash: "m", statement, proof: ANA.sign(statement), key: KEY };
  expect(check.check(makeEntry("consent_decision", detail), 1)).toBeUndefined();
});

test("a statement that is no JSON object, or has no time, is rejected", () => {
  const text = writeStatement({ ...CONSENT, decision: "approve", at: undefined });
  for (const statement of ["", "x", "null", "[]", text])
    expect(findFault("consent_decision", approval(), statement)).toBe(MISMATCH);
});

test("a decision of the service itself needs no signature, and can have none", () => {
  const expired = { ...BY_ANA, decision: "expired", digest: "d" };
  expect(createProofCheck(POLICY).check(makeEntry("consent_decision", expired), 1)).toBeUndefined();
  expect(findFault("consent_decision", expired, { ...CONSENT, decision: "expired" })).toBe(MISMATCH);
});

const STATEMENT = writeStatement({ ...ON_CHANGE, decision: "deny" });
const denial = (more: Detail): Detail => ({
  ...ON_CHANGE,
  decision: "denied",
  manifest_hash: "m",
  statement: STATEMENT,
  ...more,
});

/**
 * Returns the finding about a denial, and the counts that are not 0. `intent`: the principals that the log's entry of the intent
 * names, by which a verifier without a policy judges.
 */
function judgeDenial(detail: Detail, policy: typeof POLICY | null = POLICY, intent?: Detail): unknown[] {
  const check = createProofCheck(policy ?? undefined);
  if (intent) check.check(makeEntry("intent_in_force", { manifest_hash: "m", principals: intent }), 1);
  const finding = check.check(makeEntry("consent_decision", detail), 1);
  return [finding?.message, Object.fromEntries(Object.entries(check.proofs).filter(([, count]) => count > 0))];
}

test.each<[signer: string, more: Detail, message: string | undefined, counts: Detail]>([
  ["an SSH key", { proof: ANA.sign(STATEMENT), key: KEY }, undefined, { verified: 1 }],
  ["a passkey", { proof: PHONE.sign(STATEMENT), key: idOf(PHONE.key) }, undefined, { verified: 1 }],
  [
    "a name in another form",
    {
      proof: ANA.sign(STATEMENT.replace('"ana"', '" ANA "')),
      key: KEY,
      approver: " ANA ",
      statement: STATEMENT.replace('"ana"', '" ANA "'),
    },
    undefined,
    { verified: 1 },
  ],
  ["nobody, by a name with keys", { statement: undefined }, undefined, { unsigned: 1 }],
  ["nobody, by a name without keys", { statement: undefined, approver: "bo" }, undefined, {}],
  [
    "a key that no name has",
    { proof: EVE.sign(STATEMENT), key: KEY },
    "its proof was made by no key that the policy lists for ana",
    {},
  ],
  [
    "a passkey that no name has",
    { proof: passkey().sign(STATEMENT), key: KEY },
    "its proof was made by no key that the policy lists for ana",
    {},
  ],
  [
    "a key, while the entry names another",
    { proof: ANA.sign(STATEMENT), key: idOf(PHONE.key) },
    "its key is not the key that made its proof",
    {},
  ],
  [
    "a key, for another text",
    { proof: ANA.sign("{}"), key: KEY },
    "its proof is not a valid signature of its statement",
    {},
  ],
  [
    "a passkey, for another text",
    { proof: PHONE.sign("{}"), key: KEY },
    "its proof is not a valid signature of its statement",
    {},
  ],
  ["a text in place of a proof", { proof: "x", key: KEY }, "its proof is not a valid signature of its statement", {}],
])("with a policy, a denial signed by %s is judged by its keys", (_, more, message, counts) => {
  expect(judgeDenial(denial(more))).toEqual([message, counts]);
});

const NAMED = { ana: { kind: "person", keys: [KEY, idOf(PHONE.key)] } };
const NOT_LISTED = "its key is not one that the log lists for ana";

// The log lists hashes of keys. An SSH signature contains its key, which can be hashed; a passkey's signature does not.
test.each<[signer: string, more: Detail, message: string | undefined, counts: Detail]>([
  ["an SSH key", { proof: ANA.sign(STATEMENT), key: KEY }, undefined, { as_named: 1 }],
  ["a passkey", { proof: PHONE.sign(STATEMENT), key: idOf(PHONE.key) }, undefined, { not_checked: 1 }],
  ["an SSH key that the log does not list", { proof: EVE.sign(STATEMENT), key: idOf(EVE.key) }, NOT_LISTED, {}],
  ["an SSH key, while the entry names another", { proof: EVE.sign(STATEMENT), key: KEY }, NOT_LISTED, {}],
  ["a passkey that the log does not list", { proof: PHONE.sign(STATEMENT), key: "SHA256:x" }, NOT_LISTED, {}],
  ["nobody", { statement: undefined }, "its intent lists keys of ana, but it has no signature", {}],
])("without a policy, a denial signed by %s is judged by the log", (_, more, message, counts) => {
  expect(judgeDenial(denial(more), null, NAMED)).toEqual([message, counts]);
});

test("a key without a touch is not recorded as one whose owner was present", () => {
  const script = sshSigner("ssh-ed25519");
  const policy = parseKeys({ ana: { keys: [script.key] } });
  const judge = (authenticated: string) =>
    judgeDenial(denial({ proof: script.sign(STATEMENT), key: idOf(script.key), authenticated }), policy)[0];
  expect(judge("signature_unattended")).toBeUndefined();
  expect(judge("signature")).toBe("its authenticated is signature, but its key can sign without its owner");
  const touched = denial({ proof: ANA.sign(STATEMENT), key: KEY, authenticated: "signature" });
  expect(judgeDenial(touched)[0]).toBeUndefined();
});

test("an event that decides nothing is not read, unless it has a proof", () => {
  const check = (eventType: string, detail: string) =>
    createProofCheck(POLICY).check({ ...(makeEntry(eventType, {}) as object), detail } as never, 1)?.message;
  expect(check("monitoring_cycle", "no JSON")).toBeUndefined();
  expect(check("monitoring_cycle", '{"proof":{}}')).toBe(MISMATCH);
  expect(check("consent_decision", "no JSON")).toBe("its detail is not a JSON object, so its decision cannot be read");
  for (const detail of ['{"decision":"x","approver":"ana"}', '{"decision":"denied"}', "{}"])
    expect(check("consent_decision", detail)).toBe("its detail lacks a valid decision or approver");
});
