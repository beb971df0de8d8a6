/** `countersign-verify`: the export is held to its rules offline, with code of its own. */

const DAMAGE = ["test/tamper/damage.host.test.ts"];
const PROGRAM = ["test/local/verify.host.test.ts"];
const chain = { file: "local/verify/chain.ts", tests: DAMAGE };
const verify = { file: "local/verify/verify.ts" };
const line = { file: "local/verify/line.ts", tests: DAMAGE };
const CERTIFICATE = ["test/local/certificate.long.test.ts"];
const FORGED = ["test/local/verify/forged.host.test.ts"];
const certificate = { file: "local/verify/certificate.ts", tests: CERTIFICATE };
const LOST = ["test/local/verify/lost_consents.long.test.ts"];
const life = { file: "local/verify/life.ts", tests: CERTIFICATE };
const note = { file: "local/verify/note.ts", tests: PROGRAM };

export const verifier = [
  {
    ...life,
    name: "the verifier counts consents from before an accepted loss of the log's end",
    find: "of life.slice(life.findLastIndex(isLoss) + 1)",
    replace: "of life",
    tests: LOST,
  },
  {
    ...chain,
    name: "the verifier does not hold an entry against its hash",
    find: "return entry.currentHash === entry.computedHash",
    replace: "return true",
    only: "flipped bit of an entry|lines* removed",
  },
  {
    ...chain,
    name: "the verifier does not hold an entry against the one before",
    find: "if (last && entry.previousHash !== last.hash)",
    replace: "if (false)",
    tests: ["test/local/verify/chain_rules.test.ts"],
  },
  {
    ...chain,
    name: "the verifier lets time run backwards",
    find: 'if (last && entry.timestamp < last.timestamp && entry.eventType !== "clock_accepted")',
    replace: "if (false)",
    only: "no service writes",
  },
  {
    ...chain,
    name: "the verifier takes entries of two logs for one",
    find: "if (entry.origin !== origin) return",
    replace: "if (false) return",
    only: "no service writes",
  },
  {
    ...chain,
    name: "the verifier passes over a number that is left out",
    find: "if (last && entry.id !== last.id + 1)",
    replace: "if (false)",
    only: "no service writes",
  },
  {
    ...line,
    name: "the verifier takes more than one writing of an entry",
    find: '`^\\\\{"origin":${TEXT}`',
    replace: '`^\\\\{ *"origin":${TEXT}`',
    only: "every other writing",
  },
  {
    ...verify,
    name: "the verifier passes over a line that is not ended",
    file: "local/verify/lines.ts",
    find: 'if (state === "not ended")',
    replace: "if (false)",
    tests: DAMAGE,
    only: "a cut within a line",
  },
  {
    ...verify,
    name: "the verifier passes over bytes that are no UTF-8",
    find: "(isText || isUtf8(",
    replace: "(isText || !isUtf8(",
    tests: DAMAGE,
  },
  {
    ...verify,
    name: "a log that was cut is valid against its receipt",
    find: "if (state.length > entries)",
    replace: "if (false)",
    tests: DAMAGE,
    only: "a cut within a line",
  },
  {
    ...verify,
    name: "a rewritten log is valid against its receipt",
    find: "if (state.computed === (state.head ?? state.root)) return undefined;",
    replace: "return undefined;",
    tests: ["test/tamper/table.host.test.ts"],
  },
  {
    ...verify,
    name: "having kept nothing makes a log valid",
    find: "const hasEvidence = states.some(({ length }) => length > 0);",
    replace: "const hasEvidence = true;",
    tests: DAMAGE,
    only: "the log as it is",
  },
  {
    name: "the verifier's tree is another than the service's",
    file: "local/verify/tree.ts",
    find: "  scratch[0] = 1;\n",
    replace: "  scratch[0] = 0;\n",
    tests: DAMAGE,
    only: "the log as it is",
  },
  {
    ...note,
    name: "a checkpoint without the given key's signature is taken",
    find: "own.every(({ signature }) => verify(null, Buffer.from(text), key, signature)) ? own[0]?.name : undefined",
    replace:
      "own.every(({ signature }) => verify(null, Buffer.from(text), key, signature)) ? (own[0]?.name ?? signatures[0]?.name) : undefined",
  },
  {
    ...note,
    name: "a signature that does not hold is taken",
    find: "own.every(({ signature }) => verify(null, Buffer.from(text), key, signature))",
    replace: "own.every(({ signature }) => (verify(null, Buffer.from(text), key, signature), true))",
  },
  {
    ...note,
    name: "a verifier key whose id is not its own is taken",
    find: "bytes[0] !== type || computeKeyId(name, raw, type) !== id",
    replace: "bytes[0] !== type || !id",
  },
  {
    ...note,
    name: "a cosignature counts whatever it signs",
    file: "local/verify/witness.ts",
    find: "time <= LATEST && verify(null, message, key, signature.subarray(TIME_BYTES))",
    replace: "void [verify, message, key] === undefined",
  },
  {
    ...note,
    name: "a quorum may be made up of several checkpoints",
    file: "local/verify/witness.ts",
    find: "maxCosigned = Math.max(maxCosigned, cosignedCount);",
    replace: "maxCosigned += cosignedCount;",
  },
  {
    name: "a bad log ends with the exit code of a good one",
    file: "local/verify/main.ts",
    find: "const EXIT = { valid: 0, bad: 1, consistent: 2 } as const;",
    replace: "const EXIT = { valid: 0, bad: 0, consistent: 2 } as const;",
    tests: PROGRAM,
  },
  {
    name: "a log with nothing to hold it against ends as valid",
    file: "local/verify/main.ts",
    find: "const EXIT = { valid: 0, bad: 1, consistent: 2 } as const;",
    replace: "const EXIT = { valid: 0, bad: 1, consistent: 0 } as const;",
    tests: PROGRAM,
  },
  {
    ...certificate,
    name: "a certificate is taken for one of any content",
    find: 'if (!isLoss(step) && detail["digest"] !== digest)',
    replace: "if (false)",
  },
  {
    ...life,
    name: "a certificate's approval may be left out",
    find: "if (index > 0 && needed !== status)",
    replace: "if (false)",
  },
  {
    file: "local/verify/certificate_proofs.ts",
    tests: CERTIFICATE,
    name: "a certificate's consents need no signature",
    find: "if (hasKeys || intent?.signedOnly)",
    replace: "if (false)",
  },
  {
    ...life,
    name: "a certificate's approval needs no consents",
    find: "if (problem === undefined) continue;",
    replace: "if (problem !== false) continue;",
  },
  {
    ...life,
    name: "a certificate counts consents, not people",
    find: "names.add(normalizeName(name));",
    replace: "names.add(normalizeName(name) + recorded.entry.id);",
    tests: FORGED,
  },
  {
    ...life,
    name: "a certificate's minor change needs no rule of its intent",
    find: "if (!canBeMinor || !isMinor(content, isErased, proposalIntent))",
    replace: "if (!canBeMinor)",
    tests: FORGED,
  },
  {
    ...life,
    name: "a certificate's minor change may be of a model or of any agent",
    find: "if (!canBeMinor || !isMinor(content, isErased, proposalIntent))",
    replace: "if (!isMinor(content, isErased, proposalIntent))",
    tests: FORGED,
  },
  {
    file: "local/verify/named_keys.ts",
    name: "a log may record one intent in two ways",
    find: "else if (!areSamePrincipals(before.principals, principals))",
    replace: "else if (false)",
    tests: FORGED,
  },
  {
    file: "local/verify/proofs.ts",
    name: "a decision that cannot be read passes a verifier",
    find: 'if (!detail || problem !== undefined) return finding("form", problem);',
    replace: "if (!detail || problem !== undefined) return undefined;",
    tests: FORGED,
  },
  {
    ...certificate,
    name: "a certificate may be under a checkpoint that no trusted log signed",
    find: "if (log === undefined) addFinding(",
    replace: "if (false) addFinding(",
  },
  {
    file: "local/verify/tlog_proof.ts",
    tests: CERTIFICATE,
    name: "an entry of a certificate need not be under its checkpoint",
    find: "checkpoint.length, path) !== checkpoint.root",
    replace: 'checkpoint.length, path) === ""',
    only: "edited, and hashed again",
  },
  {
    file: "local/verify/tlog_policy.ts",
    tests: CERTIFICATE,
    name: "one witness is as good as all",
    find: "members.filter(isRuleMet).length >= one.min",
    replace: "members.filter(isRuleMet).length >= 1",
  },
];
