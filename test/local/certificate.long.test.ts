/** Tests certificates: the service creates them, and both offline verifiers report the same about them. */
import { createHash, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entryKey, nextEntry, readHead } from "../../lib/audit/chain.ts";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { entryHash } from "../../lib/audit/entry_hash.ts";
import { sha256 } from "../../local/node_ports.ts";
import { type CertificateReport, type TrustSettings, verifyCertificate } from "../../local/verify/certificate.ts";
import { certificateText } from "../../local/verify/certificate_text.ts";
import { listFiles } from "../../local/verify/container.ts";
import { readTlogPolicy } from "../../local/verify/tlog_policy.ts";
import { readPolicy } from "../../local/verify/policy.ts";
import { LONG, rounds } from "../support/run_length.ts";
import { rebuildCertificate } from "../support/certificate_parts.ts";
import type { Fields } from "../support/requests.ts";
import { PROPOSAL } from "../support/client.ts";
import { seededIntegers } from "../support/seeded_integers.ts";
import { passkey, sshSigner } from "../support/passkeys.ts";
import { service, type TestService } from "../support/service.ts";
import { decide, type Signer, person, proofFields, requestStatement } from "../support/signed.ts";
import { flipped } from "../tamper/damage.ts";
import { pythonMissing, runPython, runPythonOften } from "../tamper/verifiers.ts";
import { newKey, type SigningKey, makeSigner } from "../tamper/world.ts";

const [ANA, BO] = [passkey("ES256"), sshSigner()];
const PRINCIPALS = { ana: person(ANA), bo: person(BO) };
const INTENT = { principals: PRINCIPALS, policy: { required_approvers: { standard: 2 }, approvers: ["ana", "bo"] } };
const [LOG, WITNESS, OTHER] = [newKey(), newKey(), newKey()];

const folder = mkdtempSync(join(tmpdir(), "certificate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const writeTemporary = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

/** Returns the key id by C2SP's signed-note; `type` is 1 for a log, 4 for a witness. */
const computeKeyId = (name: string, { raw }: SigningKey, type: number): Buffer =>
  createHash("sha256")
    .update(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), raw]))
    .digest()
    .subarray(0, 4);
const formatVkey = (name: string, key: SigningKey, type: number): string =>
  `${name}+${computeKeyId(name, key, type).toString("hex")}+${Buffer.concat([Buffer.of(type), key.raw]).toString("base64")}`;

/** Adds a witness's cosignature of 2027-01-15T08:00:00Z to each checkpoint of a certificate, as the protocol's text defines it. */
function addCosignature(text: string, name: string, key: SigningKey, at = 1_800_000_000n): string {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(at);
  return rebuildCertificate(text, (part) =>
    part.replace(/\n\n([^]*?\n)\n((?:— .*\n)+)$/u, (_, body: string, lines: string) => {
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${at}\n${body}`), key.privateKey);
      const line = Buffer.concat([computeKeyId(name, key, 4), time, signature]).toString("base64");
      return `\n\n${body}\n${lines}— ${name} ${line}\n`;
    }),
  );
}

let api: TestService;
let change_id: string;
/** The certificate of that change as the service returns it, and with the cosignature of a witness. */
let withoutWitness: string;
let valid: string;
let origin: string;
let policy: string;
beforeAll(async () => {
  api = await service({ intent: INTENT, checkpointSigner: makeSigner(LOG) });
  await api.propose({ target: "ui.other" });
  ({ change_id } = await api.propose({ value: JSON.stringify({ text: "Grüezi 🙂", size: 1.5e-7 }), proposer: "pat" }));
  await decide(api, ANA, "approve", { change_id, approver: "ana", note: '"fine"\n' });
  await decide(api, BO, "approve", { change_id, approver: "Bo " });
  await api.must("apply", change_id);
  await api.post("rollback", { change_id, actor: "ops", note: "as planned" });
  await api.propose({ target: "ui.other" });
  withoutWitness = await certificate(change_id);
  ({ origin } = (await api.audit())[0]);
  valid = addCosignature(withoutWitness, "w.example", WITNESS);
  const log = `log ${formatVkey(origin, LOG, 1)}`;
  const witness = `witness w1 ${formatVkey("w.example", WITNESS, 4)}\nwitness w2 ${formatVkey("o.example", OTHER, 4)}`;
  policy = writeTemporary("policy", `# ours\n${log}\n${witness}\ngroup some any w1 w2\nquorum some\n`);
  writeTemporary("both", `${log}\n${witness}\ngroup all all w1 w2\nquorum all\n`);
  writeTemporary("none", `${log}\nquorum none\n`);
  writeTemporary("other-log", `log ${formatVkey(origin, OTHER, 1)}\nquorum none\n`);
  writeTemporary("intent.json", JSON.stringify({ principals: PRINCIPALS }));
  writeTemporary("others.json", JSON.stringify({ principals: { ana: person(passkey()), bo: person(sshSigner()) } }));
});

async function certificate(id: string): Promise<string> {
  const reply = await api.get(`changes/${id}/certificate`);
  expect(reply.status, reply.text).toBe(200);
  return reply.text;
}

interface TrustOptions {
  policy?: string;
  keys?: string;
  manifests?: string[];
}
const readTrust = ({ policy: logs, keys, manifests = [] }: TrustOptions): TrustSettings => ({
  policy: logs === undefined ? undefined : readTlogPolicy(join(folder, logs)),
  trustedKeys: keys === undefined ? undefined : readPolicy(join(folder, keys)),
  acceptedManifests: manifests,
});
const toArguments = ({ policy: logs, keys, manifests = [] }: TrustOptions): string[] => [
  ...(logs === undefined ? [] : ["--policy", join(folder, logs)]),
  ...(keys === undefined ? [] : ["--keys", join(folder, keys)]),
  ...manifests.flatMap((hash) => ["--manifest-hash", hash]),
];

/** Files verified here, which the Python verifier checks at the end in one process. */
const verifiedFiles: { args: string[]; report: CertificateReport | string }[] = [];

/** Verifies certificates here, and the first `maxForPython` of them later with the verifier in Python. */
function verifyAll(
  samples: readonly (string | Buffer)[],
  trust: TrustOptions = { policy: "policy" },
  maxForPython = samples.length,
): (CertificateReport | string)[] {
  const trusted = readTrust(trust);
  return samples.map((sample, index) => {
    const report = reportOrError(() => verifyCertificate(Buffer.from(sample), trusted));
    if (index < maxForPython) {
      const path = writeTemporary(`${verifiedFiles.length}.certificate`, sample);
      verifiedFiles.push({ args: ["certificate", path, ...toArguments(trust), "--json"], report });
    }
    return report;
  });
}

function reportOrError(verify: () => CertificateReport): CertificateReport | string {
  try {
    return verify();
  } catch (error) {
    return (error as Error).message;
  }
}

const verifyOne = (sample: string, trust?: TrustOptions): CertificateReport => {
  const [report] = verifyAll([sample], trust);
  if (typeof report !== "object") throw new Error(report);
  return report;
};
const listRules = ({ findings }: CertificateReport) => [...new Set(findings.map(({ rule }) => rule))];

const KEYS_FROM_LOG_REMARK =
  "only the intents in this file state whose keys these are: name the trusted keys with --keys or --manifest-hash";

test("a certificate shows content, approvers, their keys, and every later step", () => {
  const report = verifyOne(valid);
  expect(report).toMatchObject({
    verdict: "valid",
    change_id,
    content: expect.stringContaining('"target":"ui.banner","tenant_id":"t1","tier":"standard","value":{"size":1.5e-7,'),
    checkpoint: { length: 8, signed_by: origin, witnessed_by: [{ name: "w1", at: "2027-01-15T08:00:00.000Z" }] },
    findings: [],
    remarks: [KEYS_FROM_LOG_REMARK],
  });
  // Entry 1 is the intent; 2 and 8 are the proposals of ui.other.
  expect(
    report.steps.map(({ entry, event, decision, name, note, key }) => [entry, event, decision, name, note, !!key]),
  ).toEqual([
    [3, "change_proposed", null, "pat", null, false],
    [4, "consent_decision", "approved", "ana", '"fine"\n', true],
    [5, "consent_decision", "approved", "Bo", "", true],
    [6, "change_applied", null, null, null, false],
    [7, "change_rolled_back", null, "ops", "as planned", false],
  ]);
});

test("a certificate consists of short parts, each a valid file of its own", () => {
  const files = new Map(listFiles(Buffer.from(valid)));
  expect([...files.keys()].map((name) => name.replace(/[0-9a-f]{64}/, "HASH"))).toEqual([
    "content.json",
    "intent-HASH.json",
    ...[3, 4, 5, 6, 7].map((id) => `${id}.tlog-proof`),
  ]);
  for (const [name, text] of files)
    if (name.endsWith(".tlog-proof")) {
      expect(text).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra /);
      expect(text.length, name).toBeLessThan(4000);
    }
});

test("a certificate with any flipped bit is rejected, or has the same report", { timeout: 300_000 }, () => {
  const bytes = Buffer.from(valid);
  const randomBelow = seededIntegers(7);
  // The short run flips 200 random bits; the long run one bit of every ninth byte; the full run one bit of every byte.
  const stride = rounds(0, 9, 1);
  const sampleSize = LONG ? Math.ceil(bytes.length / stride) : 200;
  const bits = Array.from({ length: sampleSize }, (_, index) =>
    LONG ? index * stride * 8 + randomBelow(8) : randomBelow(bytes.length * 8),
  );
  const [original] = verifyAll([valid]);
  const reports = verifyAll(
    bits.map((bit) => flipped(bytes, bit)),
    { policy: "policy" },
    rounds(20, 60, 500),
  );
  for (const [index, report] of reports.entries()) {
    if (typeof report === "string" || report.verdict === "bad") continue;
    expect(report, `bit ${bits[index]}`).toEqual(original);
  }
});

describe("a certificate of a change whose content was erased", () => {
  let erasedCertificate: string;
  let id: string;
  beforeAll(async () => {
    const other = await service({ intent: INTENT, checkpointSigner: makeSigner(LOG) });
    ({ change_id: id } = await other.propose({ summary: "Wombat", value: '"secret"', proposer: "pat" }));
    await decide(other, ANA, "deny", { change_id: id, approver: "ana" });
    const fields = { change_id: id, note: "asked for" };
    const statement = await requestStatement(other, { decision: "erase", approver: "ana", ...fields });
    const reply = await other.post("erase", { actor: "ana", ...fields, ...proofFields(ANA, statement) });
    expect(reply.status, reply.text).toBe(200);
    erasedCertificate = (await other.get(`changes/${id}/certificate`)).text;
    writeTemporary("of-other", `log ${formatVkey((await other.audit())[0].origin, LOG, 1)}\nquorum none\n`);
  });

  test("shows what was decided, who erased the content, and that it is erased", () => {
    const report = verifyOne(erasedCertificate, { policy: "of-other", keys: "intent.json" });
    expect(report).toMatchObject({
      ...{ verdict: "valid", change_id: id, erased: true, findings: [] },
      content: expect.stringContaining('"summary":"erased","target":"ui.banner"'),
      remarks: ["the content was erased by entry 4: only its digest remains"],
    });
    expect(report.steps.map(({ event, name, key }) => [event, name, !!key])).toEqual([
      ["change_proposed", "pat", false],
      ["consent_decision", "ana", true],
      ["content_erased", "ana", true],
    ]);
    expect(certificateText("x", report)).toContain('content erased by "ana" (signed with SHA256:');
    expect(new Map(listFiles(Buffer.from(erasedCertificate))).has("erased.json")).toBe(true);
    expect(Buffer.from(erasedCertificate).toString()).not.toContain("Wombat");
  });

  test("needs the remaining content of the erasure, and its entry", () => {
    const edited = rebuildCertificate(erasedCertificate, (part, name) =>
      name === "erased" ? part.replace("ui.banner", "ui.other") : part,
    );
    expect(verifyOne(edited, { policy: "of-other" }).findings).toMatchObject([
      {
        entry: 4,
        rule: "content",
        message: "the remaining content does not match the remaining_digest of its erasure",
      },
      { entry: 2, rule: "content", message: "its target is not that of the content in this file" },
    ]);
    let count = 0;
    const withoutErasure = rebuildCertificate(erasedCertificate, (part, name) =>
      name === "proof" && ++count === 3 ? null : part,
    );
    expect(verifyOne(withoutErasure, { policy: "of-other" }).findings).toMatchObject([
      { entry: null, rule: "content", message: "the content is marked as erased, but no entry records an erasure" },
    ]);
  });
});

describe("a defect is reported:", () => {
  test("without a policy the checkpoint is not trusted; with `quorum none` it needs no witness", () => {
    expect(verifyOne(valid, {})).toMatchObject({ verdict: "consistent", checkpoint: null, findings: [] });
    expect(verifyOne(withoutWitness, { policy: "none" })).toMatchObject({
      verdict: "valid",
      checkpoint: { witnessed_by: [] },
    });
  });

  test("missing witnesses, a log that the policy does not name", () => {
    expect(listRules(verifyOne(withoutWitness))).toEqual(["cosignature"]);
    expect(listRules(verifyOne(valid, { policy: "both" }))).toEqual(["cosignature"]);
    expect(listRules(verifyOne(valid, { policy: "other-log" }))).toEqual(["signature"]);
    expect(listRules(verifyOne(addCosignature(withoutWitness, "w.example", OTHER)))).toEqual(["cosignature"]);
    expect(verifyOne(addCosignature(valid, "o.example", OTHER), { policy: "both" }).verdict).toBe("valid");
  });

  test("other keys than the approvers', intents that are not accepted", () => {
    expect(listRules(verifyOne(valid, { policy: "policy", keys: "others.json" }))).toEqual(["proof", "quorum"]);
    expect(verifyOne(valid, { policy: "policy", keys: "intent.json" }).verdict).toBe("valid");
    const { manifest_hash } = api.deps.product!;
    expect(verifyOne(valid, { policy: "policy", manifests: [manifest_hash] }).verdict).toBe("valid");
    expect(listRules(verifyOne(valid, { policy: "policy", manifests: ["0".repeat(64)] }))).toEqual(["intent"]);
  });

  test("an edited entry with a new hash is not in the checkpoint's tree", () => {
    const edited = (extra: string): string => {
      const entry = JSON.parse(Buffer.from(extra, "base64").toString()) as AuditEntry;
      const later = { ...entry, timestamp: "2026-01-02T03:04:06.000Z" };
      return Buffer.from(JSON.stringify({ ...later, current_hash: entryHash(later, sha256) })).toString("base64");
    };
    // An index is the id of an entry minus one: this is the rollback, entry 7.
    const forged = rebuildCertificate(valid, (part) =>
      part.replace(/extra (\S+)(?=\nindex 6\n)/, (_, extra: string) => `extra ${edited(extra)}`),
    );
    expect(listRules(verifyOne(forged))).toEqual(["inclusion"]);
  });

  test("parts of another certificate, missing parts, edited parts", async () => {
    const { change_id: id } = await api.propose({ target: "ui.third" });
    const other = addCosignature(await certificate(id), "w.example", WITNESS);
    const [content, intent] = [1, 2].map((index) => other.split(/\n(?=content|intent|proof)/)[index]!);
    const proof = other.slice(other.indexOf("proof ")).replace(/^proof \d+\n/, "");
    const replacePart = (partName: string, text: string, at = 0) => {
      let count = 0;
      return rebuildCertificate(valid, (part, name) => (name === partName && count++ === at ? text : part));
    };
    expect(listRules(verifyOne(replacePart("content", `${content!.split("\n")[1]}\n`)))).toEqual(["content"]);
    expect(
      listRules(verifyOne(replacePart("intent", `${intent!.split("\n")[1]!.replace("2026.11", "2026.12")}\n`))),
    ).toEqual(["intent"]);
    expect(listRules(verifyOne(replacePart("intent", "[]\n")))).toEqual(["intent"]);
    expect(listRules(verifyOne(replacePart("intent", "no json\n")))).toEqual(["intent"]);
    // The first proof is valid, but of another change; the second is invalid, and its entry is not judged.
    expect(listRules(verifyOne(replacePart("proof", proof, 4)))).toEqual(["form", "content", "inclusion"]);
    expect(listRules(verifyOne(replacePart("proof", proof.replace("index 8", "index 7"), 4)))).toEqual(["inclusion"]);
    const removePart = (partName: string, at: number) => {
      let count = 0;
      return rebuildCertificate(valid, (part, name) => (name === partName && count++ === at ? null : part));
    };
    expect(listRules(verifyOne(removePart("proof", 0)))).toEqual(["form"]);
    expect(listRules(verifyOne(removePart("proof", 1)))).toEqual(["quorum"]);
    expect(verifyOne(removePart("intent", 0))).toMatchObject({
      verdict: "consistent",
      remarks: [expect.stringContaining("is not in this file: the consents that it requires were not checked")],
    });
    expect(
      verifyAll([removePart("content", 0), "", valid.slice(0, -1), `${valid}\n`, valid.replace("v1", "v2")]),
    ).toEqual(Array.from({ length: 5 }, () => "this is not a certificate in the exact form that the service writes"));
  });

  test("a step without the entries that allow it", async () => {
    const keepProofs = (...positions: number[]) => {
      let count = 0;
      return rebuildCertificate(valid, (part, name) => (name !== "proof" || positions.includes(count++) ? part : null));
    };
    const listFindings = (sample: string) =>
      verifyOne(sample).findings.map(({ entry, rule, message }) => [entry, rule, message]);
    expect(listFindings(keepProofs(0, 3))).toEqual([
      [6, "form", "the change must be approved before this entry, but the earlier entries make it pending_consent"],
      [6, "quorum", "it was applied with 0 of 2 consents"],
    ]);
    expect(listFindings(keepProofs(0, 1, 2, 4))).toEqual([
      [7, "form", "the change must be applied before this entry, but the earlier entries make it approved"],
    ]);
    const withOneConsent = verifyOne(keepProofs(0, 1));
    expect(withOneConsent.verdict).toBe("valid");
    expect(withOneConsent.steps.map(({ status }) => status)).toEqual(["pending_consent", "pending_consent"]);
    expect(verifyOne(valid).steps.map(({ status }) => status)).toEqual([
      "pending_consent",
      "pending_consent",
      "approved",
      "applied",
      "rolled_back",
    ]);
    expect(certificateText("x", withOneConsent)).toContain('approved by "ana", then pending_consent (');
  });

  test("unsigned consents where the intent requires signatures", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.unsigned" });
    const { manifest_hash } = api.deps.product!;
    const consent = { decision: "approved", note: "", digest, manifest_hash, authenticated: "signature" };
    await appendConsent(api, id, { ...consent, status: "pending_consent", approver: "ana" });
    await appendConsent(api, id, { ...consent, status: "approved", approver: "bo" });
    const forged = addCosignature(await certificate(id), "w.example", WITNESS);
    const report = verifyOne(forged);
    expect(report.verdict).toBe("bad");
    expect(report.findings.map(({ rule, message }) => [rule, message])).toEqual([
      ["proof", "it must be signed by ana, and has no signature"],
      ["proof", "it must be signed by bo, and has no signature"],
      ["quorum", "it was approved with 0 of 2 consents"],
    ]);
    expect(certificateText("x", report)).not.toContain("authenticated by: signature");
    const withoutIntent = rebuildCertificate(forged, (part, name) => (name === "intent" ? null : part));
    expect(verifyOne(withoutIntent)).toMatchObject({
      verdict: "consistent",
      remarks: [`the intent ${manifest_hash} is not in this file: the consents that it requires were not checked`],
    });
    expect(listRules(verifyOne(withoutIntent, { policy: "policy", keys: "intent.json" }))).toEqual(["proof", "quorum"]);
  });

  test("a recorded key that did not sign, and user verification that no key proves", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.bent" });
    const { manifest_hash } = api.deps.product!;
    const statement = await requestStatement(api, { decision: "approve", change_id: id, approver: "ana" });
    const signedConsent = {
      decision: "approved",
      note: "",
      digest,
      manifest_hash,
      statement,
      proof: ANA.sign(statement),
    };
    const by = { status: "pending_consent", approver: "ana", authenticated: "signature" };
    await appendConsent(api, id, { ...signedConsent, ...by, key: "SHA256:another" });
    expect(verifyOne(addCosignature(await certificate(id), "w.example", WITNESS)).findings).toMatchObject([
      { rule: "proof", message: "its key is not the key that made its proof" },
    ]);
    const agent = sshSigner("ssh-ed25519");
    const people = writeTemporary("agent.json", JSON.stringify({ principals: { ana: person(agent) } }));
    const withAgentKey = { ...signedConsent, ...by, proof: agent.sign(statement) };
    await appendConsent(api, id, { ...withAgentKey, key: `SHA256:${"A".repeat(43)}` });
    const { findings } = verifyCertificate(Buffer.from(await certificate(id)), {
      trustedKeys: readPolicy(people),
      acceptedManifests: [],
    });
    expect(findings.at(-1)).toMatchObject({
      message: "its authenticated is signature, but its key can sign without its owner",
    });
  });

  test("without --keys or --manifest-hash a remark says where the approvers' keys come from", () => {
    expect(verifyOne(valid).remarks).toEqual([KEYS_FROM_LOG_REMARK]);
    expect(verifyOne(valid, { policy: "policy", keys: "intent.json" }).remarks).toEqual([]);
    const manifests = [api.deps.product!.manifest_hash];
    expect(verifyOne(valid, { policy: "policy", manifests }).remarks).toEqual([]);
  });

  test("an approval by one unsigned consent where two signed ones are required", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.forged" });
    const { manifest_hash } = api.deps.product!;
    await appendConsent(api, id, {
      decision: "approved",
      status: "approved",
      approver: "ana",
      note: "",
      digest,
      manifest_hash,
    });
    const report = verifyOne(addCosignature(await certificate(id), "w.example", WITNESS));
    expect(listRules(report)).toEqual(["proof", "quorum"]);
    expect(report.steps[1]).toMatchObject({ decision: "approved", name: "ana", key: null });
  });
});

test("an emergency without enough consents by the named people is reported", async () => {
  const policy = { break_glass: { approvers: ["bo", "cy"], required: 2, review_hours: 72 } };
  const other = await service({ intent: { policy }, checkpointSigner: makeSigner(LOG) });
  const { change_id: id, digest } = await other.propose({});
  const { manifest_hash } = other.deps.product!;
  const consent = { decision: "approved", emergency: true, note: "down", digest, manifest_hash };
  await appendConsent(other, id, { ...consent, status: "pending_consent", approver: "bo" });
  await appendConsent(other, id, { ...consent, status: "approved", approver: "ana", review_hours: 72 });
  const { text } = await other.get(`changes/${id}/certificate`);
  expect(verifyOne(text, {}).findings).toEqual([
    { line: null, entry: 4, rule: "quorum", message: "it was approved with 1 of 2 consents for an emergency" },
  ]);
});

test("certificates of an emergency, of a revoked, a denied and a minor change are valid", async () => {
  const [CY, DI] = [passkey("EdDSA"), sshSigner("ecdsa-sha2-nistp256")];
  const secret = "the secret of an agent that tunes";
  const token_sha256 = createHash("sha256").update(secret).digest("hex");
  const other = await service({
    intent: {
      principals: { ...PRINCIPALS, cy: person(CY), di: person(DI), "agent:tuner": { kind: "agent", token_sha256 } },
      policy: {
        ...INTENT.policy,
        groups: { oncall: ["cy", "Di"] },
        minor: { kinds: ["config"], max_affected_users: 1000, targets: ["ui.*"], tenants: ["t1"], agents: true },
        owners: [{ targets: ["ui.minor"], tenants: ["t2"], approvers: ["ana"] }],
        break_glass: { approvers: ["group:oncall"], required: 2, review_hours: 72 },
      },
    },
    checkpointSigner: makeSigner(LOG),
  });
  const postSigned = async (signer: Signer, fields: Fields, decision = "approve") => {
    const { emergency: isUrgent, ...stated } = fields;
    const statement = await requestStatement(other, { decision: isUrgent ? "approve_emergency" : decision, ...stated });
    const reply = await other.post(decision, { ...fields, ...proofFields(signer, statement) });
    expect(reply.status, reply.text).toBe(200);
  };
  const changeIds: string[] = [];
  const propose = async (fields: Fields = {}) => {
    const { change_id: id } = await other.propose({ target: `ui.${changeIds.length}`, ...fields });
    changeIds.push(id);
    return id;
  };
  const urgent = { emergency: "true", note: "shop is down" };
  const emergency = await propose();
  await postSigned(CY, { change_id: emergency, approver: "cy", ...urgent });
  await postSigned(DI, { change_id: emergency, approver: "di", ...urgent });
  await other.must("apply", emergency);
  await postSigned(ANA, { change_id: emergency, approver: "ana", verdict: "not_accepted" }, "review");
  await other.must("rollback", emergency);
  const normalAndEmergency = await propose();
  await postSigned(ANA, { change_id: normalAndEmergency, approver: "ana" });
  await postSigned(BO, { change_id: normalAndEmergency, approver: "bo" });
  await postSigned(CY, { change_id: normalAndEmergency, approver: "cy", ...urgent });
  await postSigned(DI, { change_id: normalAndEmergency, approver: "di", ...urgent });
  await other.must("apply", normalAndEmergency);
  const revoked = await propose();
  await postSigned(ANA, { change_id: revoked, approver: "ana" });
  await postSigned(BO, { change_id: revoked, approver: "bo" });
  await postSigned(BO, { change_id: revoked, approver: "bo" }, "revoke");
  const denied = await propose();
  await postSigned(ANA, { change_id: denied, approver: "ana" });
  await postSigned(BO, { change_id: denied, approver: "bo" }, "deny");
  const small = { ...PROPOSAL, kind: "config", target: "ui.minor", tier: "minor", affected_users: "1", risk: "low" };
  const minor = await other.post("propose", { ...small, reversible: "true" }, { authorization: `Bearer ${secret}` });
  expect(minor.body.tier, minor.text).toBe("minor");
  changeIds.push(minor.body.change_id);
  await other.must("apply", minor.body.change_id);
  for (const id of changeIds) {
    const { text } = await other.get(`changes/${id}/certificate`);
    const { origin: own } = (await other.audit())[0];
    const policy = readTlogPolicy(writeTemporary("own", `log ${formatVkey(own, LOG, 1)}\nquorum none\n`));
    const report = verifyCertificate(Buffer.from(text), { policy, trustedKeys: undefined, acceptedManifests: [] });
    const { status } = (await other.get(`changes/${id}`)).body;
    expect([report.verdict, report.findings, report.steps.at(-1)!.status]).toEqual(["valid", [], status]);
    verifyAll([text], {});
  }
});

/** Appends a consent to the log without the service's checks: its hashes are valid, and nothing justifies it. */
const appendConsent = ({ deps: { store, sha256 } }: TestService, change_id: string, detail: object): Promise<void> =>
  store.transact(async (tx) => {
    const head = (await readHead(tx))!;
    const event = { event_type: "consent_decision", change_id, tenant: "t1", detail } as const;
    const next = nextEntry(head, event, head.at, sha256);
    tx.put("audit", entryKey(next.entry.id), next.entry);
    tx.put("meta", "chain", next.head);
    const { value } = (await tx.get("changes", change_id))!;
    tx.put("changes", change_id, { ...value, audit: [...value.audit, next.entry.id] } as typeof value);
  });

test("verify_audit.py prints the same report, and has the documented exit codes", () => {
  if (pythonMissing !== null) return;
  const path = writeTemporary("good.certificate", valid);
  const { status, stdout } = runPython(["certificate", path, "--policy", policy]);
  expect(stdout).toBe(`${certificateText(path, verifyOne(valid))}\n`);
  expect(status).toBe(0);
  // The checkpoint is not trusted, it is signed by another log, and the argument is malformed.
  const calls = [[path], [path, "--policy", join(folder, "other-log")], [path, "--manifest-hash", "x"]];
  expect(runPythonOften(calls.map((args) => ["certificate", ...args])).map((ended) => ended.status)).toEqual([2, 1, 3]);
});

const BAD_POLICIES: [text: string, reason: string][] = [
  ["", "exactly one quorum is needed; quorum none asks for no witness"],
  ["log x\nquorum none", "line 1: a verifier key is needed"],
  ["quorum none\nquorum none", "line 2: log, witness, group, or one quorum is needed"],
  ["quorum w", "line 1: w is not defined on an earlier line"],
  ["group g all\nquorum none", "line 1: a group has a name, then all, any or a number, then members, each once"],
  ["group g 2 a\nquorum none", "line 1: a group has a name, then all, any or a number, then members, each once"],
  ["group g any a\nquorum none", "line 1: a is not defined on an earlier line"],
  ["hello\nquorum none", "line 1: log, witness, group, or one quorum is needed"],
];

test("an invalid policy is rejected, with the line", () => {
  const paths = BAD_POLICIES.map(([text], index) => writeTemporary(`bad-${index}`, text));
  const messages = BAD_POLICIES.map(([, reason], index) => `${paths[index]} is not a tlog-policy: ${reason}`);
  for (const [index, path] of paths.entries()) expect(() => readTlogPolicy(path)).toThrow(messages[index]);
  if (pythonMissing !== null) return;
  const results = runPythonOften(paths.map((path) => ["certificate", path, "--policy", path]));
  expect(results.map(({ stderr }) => stderr)).toEqual(messages.map((message) => `verify_audit.py: ${message}\n`));
});

describe("GET .../certificate", () => {
  test("returns a file, or 404 for an unknown change", async () => {
    const { headers } = await api.get(`changes/${change_id}/certificate`);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("content-disposition")).toBe(`attachment; filename="${change_id}.certificate"`);
    expect((await api.get("changes/chg_00000000-0000-7000-8000-00000000ffff/certificate")).status).toBe(404);
  });

  test("is 503 while the log does not verify", async () => {
    const { change_id: id } = await api.propose({ target: "ui.late" });
    const { integrity } = api.deps;
    integrity.breach = { first_invalid: 1, reason: "edited" };
    const reply = await api.get(`changes/${id}/certificate`);
    delete integrity.breach;
    expect(reply).toMatchObject({ status: 503, body: { code: "chain_broken", first_invalid: 1 } });
    expect((await api.get(`changes/${id}/certificate`)).status).toBe(200);
  });

  test("is rejected for a record that differs from the proposal", async () => {
    const { change_id: id } = await api.propose({ target: "ui.edited" });
    await api.deps.store.transact(async (tx) => {
      const { value } = (await tx.get("changes", id))!;
      tx.put("changes", id, { ...value, change: { ...value.change, summary: "Another" } } as typeof value);
    });
    expect((await api.get(`changes/${id}/certificate`)).body).toMatchObject({ code: "approval_stale" });
  });
});

test.skipIf(pythonMissing !== null)(
  `verify_audit.py reports the same for all certificates (${pythonMissing ?? "python3 is here"})`,
  { timeout: 300_000 },
  () => {
    const results = runPythonOften(verifiedFiles.map(({ args }) => args));
    expect(results.length).toBeGreaterThan(50);
    for (const [index, { status, stdout, stderr }] of results.entries()) {
      const { args, report } = verifiedFiles[index]!;
      if (typeof report === "string") expect([status, stderr]).toEqual([3, `verify_audit.py: ${report}\n`]);
      else expect(JSON.parse(stdout), `${args.join(" ")}: ${stderr}`).toEqual(report);
    }
  },
);
