/** Signatures: what they are of, by whom, and that they are asked for. */

const VERIFY = { tests: ["test/lib/governance/proof/verify.test.ts"] };
const webauthn = { file: "lib/governance/proof/webauthn.ts", ...VERIFY };
const ssh = { file: "lib/governance/proof/ssh_signature.ts", ...VERIFY };
const ACTS = { tests: ["test/lib/governance/signed_acts.test.ts"] };
const GOVERNED = { tests: ["test/lib/governance/signed_consent.test.ts"] };

export const proof = [
  {
    ...webauthn,
    name: "a passkey's signature of one statement is one of any",
    find: "asked !== challenge",
    replace: "asked === undefined",
    tests: ["test/lib/governance/adversary.test.ts"],
    only: "tries of an adversary",
    grave: true,
  },
  { ...webauthn, name: "a passkey need not verify its owner", find: "(flags & VERIFIED) === 0", replace: "false" },
  { ...webauthn, name: "a passkey need not be touched", find: "(flags & PRESENT) === 0", replace: "false" },
  { ...webauthn, name: "any page may ask for a passkey", find: "!mayAsk(origin, key)", replace: "false" },
  { ...webauthn, name: "a frame may ask for a passkey", find: "crossOrigin !== false || ", replace: "" },
  {
    ...webauthn,
    name: "a passkey of another site is taken",
    find: "if (base64UrlOf(data.slice(0, 32)) !== rpHash)",
    replace: "if (rpHash === undefined)",
  },
  { ...ssh, name: "a signature for git is a consent", find: "namespace !== NAMESPACE", replace: "false" },
  { ...ssh, name: "a security key of SSH need not be touched", find: "(said[0]! & PRESENT) === 0", replace: "false" },
  {
    ...VERIFY,
    name: "a number of a signature may be written longer than it is",
    file: "lib/governance/proof/ecdsa.ts",
    find: " || (first === 0 && second < 128)",
    replace: "",
    tests: ["test/lib/governance/proof/ecdsa.test.ts"],
  },
  {
    ...GOVERNED,
    name: "whoever has keys need not use them",
    file: "lib/governance/rules/require_signature.ts",
    find: "isConsent ? mustSign(name, signing)",
    replace: "isConsent ? signing.only",
    grave: true,
  },
  {
    ...ACTS,
    name: "anybody lifts a freeze",
    file: "lib/governance/rules/require_signature.ts",
    find: '  "unfreeze",\n',
    replace: "",
    grave: true,
  },
  {
    ...ACTS,
    name: "a review need not be signed",
    file: "lib/governance/rules/state_machine.ts",
    find: "...reviewOf(change, command, intent), ...told, ...signed(command, context) }",
    replace: "...reviewOf(change, command, intent), ...told }",
    grave: true,
  },
  {
    ...ACTS,
    name: "whoever has keys freezes the service by their word",
    file: "lib/governance/rules/require_signature.ts",
    find: 'const byKey = type === "freeze" || ',
    replace: "const byKey = ",
  },
  {
    ...ACTS,
    name: "a signed proposal may be sent again",
    file: "lib/governance/used_statements.ts",
    find: 'if (await tx.get("used_statements", id)) return false;',
    replace: "",
    grave: true,
  },
  {
    name: "a verdict is not what is signed",
    file: "local/verify/proofs.ts",
    find: 'verdict: decision === "review" ? verdict : undefined',
    replace: "verdict: undefined",
    tests: ["test/local/verify_proofs.test.ts"],
  },
  {
    name: "an emergency consent may be told as its denial",
    file: "local/verify/proofs.ts",
    find: 'decision === "approve" && detail["emergency"] === true',
    replace: 'detail["emergency"] === true',
    tests: ["test/local/verify_proofs.test.ts"],
  },
  {
    name: "a decision that nobody signed passes a verifier",
    file: "local/verify/proofs.ts",
    find: "if (intents.keysOf(detail, by).length > 0)",
    replace: "if (intents.keysOf(detail, by).length > 99)",
    tests: ["test/local/verify_proofs.test.ts"],
  },
  {
    ...GOVERNED,
    name: "a consent counts though its key was taken away",
    file: "lib/governance/rules/signing.ts",
    find: "keysOf(approver, signing).some(({ id }) => id === key)",
    replace: "key !== undefined",
  },
  {
    ...GOVERNED,
    name: "a proof is not verified again at the apply",
    file: "lib/governance/operation/begin.ts",
    find: 'operation === "apply" ? await asProven(transaction, record) : change',
    replace: "change",
    grave: true,
  },
  {
    ...GOVERNED,
    name: "a proof is good for ever",
    file: "lib/governance/proof_input.ts",
    find: "Math.abs(now - Date.parse(at)) > WINDOW_MS",
    replace: "at === undefined",
  },
  {
    name: "one key may stand under two names",
    file: "lib/governance/rules/principals.ts",
    find: "if (other !== undefined)\n        refuse(\n",
    replace: "if (other === undefined && other)\n        refuse(\n",
    tests: ["test/lib/governance/rules/intent.test.ts"],
    only: "a key that cannot stand",
  },
];
