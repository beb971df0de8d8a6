/** Files of the trust core in reading order, for the table of docs/trust_core.md, which test/docs/field_tables.test.ts generates. */
export const TRUST_CORE: Readonly<Record<string, string>> = {
  "lib/changes/proofs/verify_consent.ts":
    "a consent counts if a key signed exactly the statement that the service rebuilds",
  "lib/changes/rules/statement.ts": "the text of a statement",
  "lib/changes/rules/content.ts": "the digest of the content",
  "lib/kit/canonical_json.ts": "RFC 8785 for the value of a change",
  "node_modules/canonicalize/lib/canonicalize.js": "the package that implements RFC 8785",
  "lib/changes/rules/signing.ts": "the keys of each person, and who must sign",
  "lib/changes/rules/names.ts": "the comparison of names",
  "lib/changes/rules/proof.ts": "the form of a proof",
  "lib/changes/proofs/verify_proof.ts": "the verification of a proof with the keys of a name",
  "lib/changes/rules/key_material.ts": "the forms of public keys, and the pages that may use a passkey",
  "lib/changes/proofs/webauthn.ts": "the assertion of a passkey",
  "lib/changes/proofs/ssh_signature.ts": "the SSHSIG of an SSH key",
  "lib/changes/rules/ssh_wire.ts": "numbers and strings in the format of SSH",
  "lib/changes/proofs/ecdsa.ts": "the forms of ECDSA signatures",
  "lib/changes/proofs/web_crypto.ts": "the calls of Web Crypto",
  "lib/kit/strict_json.ts": "JSON that has only one meaning for every reader",
  "lib/kit/base64.ts": "base64 that has only one form",
  "lib/kit/once.ts": "a value that is computed at its first use",
};
