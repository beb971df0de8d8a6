/** The text of statements, and the values that are computed from it. */
import { expect, test } from "vitest";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import { sha256 } from "../../../../local/node_ports.ts";
import { parseStatementTime, statementText } from "../../../../lib/changes/rules/statement.ts";
import { computePasskeyChallenge } from "../../../../lib/changes/consent_statement.ts";

const FACTS = {
  origin: "acme-crm/audit/0f",
  change_id: "chg_1",
  digest: "d".repeat(64),
  decision: "approve",
  approver: "ana@acme.example",
  note: 'é "quoted"\n\u0007 – 🙂',
  manifest_hash: "a".repeat(64),
  at: "2026-01-02T03:04:05.678Z",
} as const;

test("a statement is the RFC 8785 JSON of its facts", () => {
  expect(statementText(FACTS)).toBe(canonicalJson({ v: "countersign-consent/1", ...FACTS }));
  expect(statementText({ ...FACTS, note: "", change_id: undefined, decision: "propose" })).toBe(
    `{"approver":"ana@acme.example","at":"2026-01-02T03:04:05.678Z","decision":"propose","digest":"${FACTS.digest}","manifest_hash":"${FACTS.manifest_hash}","note":"","origin":"acme-crm/audit/0f","v":"countersign-consent/1"}`,
  );
});

test("the challenge for a passkey is the SHA-256 of the statement in base64url", () => {
  // The SHA-256 of the empty text.
  expect(computePasskeyChallenge("", sha256)).toBe("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
});

test("the time is read from a statement, and from no other text", () => {
  expect(parseStatementTime(statementText(FACTS))).toBe(FACTS.at);
  for (const text of ["", "{}", "null", '{"at":1}', "no JSON"]) expect(parseStatementTime(text)).toBeUndefined();
});
