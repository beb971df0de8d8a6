/** Certificates, as the service makes them and as both offline verifiers read them. */
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
import { LONG, rounds } from "../support/length.ts";
import { rebuilt } from "../support/certificate_parts.ts";
import type { Fields } from "../support/requests.ts";
import { PROPOSAL } from "../support/client.ts";
import { numbers } from "../support/numbers.ts";
import { passkey, sshPen } from "../support/passkeys.ts";
import { service, type TestService } from "../support/service.ts";
import { decide, type Pen, person, proven, requestStatement } from "../support/signed.ts";
import { flipped } from "../tamper/damage.ts";
import { pythonMissing, runPython, runPythonOften } from "../tamper/verifiers.ts";
import { newKey, type SigningKey, makeSigner } from "../tamper/world.ts";

const [ANA, BO] = [passkey("ES256"), sshPen()];
const PRINCIPALS = { ana: person(ANA), bo: person(BO) };
const INTENT = { principals: PRINCIPALS, policy: { required_approvers: { standard: 2 }, approvers: ["ana", "bo"] } };
const [LOG, WITNESS, OTHER] = [newKey(), newKey(), newKey()];

const folder = mkdtempSync(join(tmpdir(), "certificate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

/** The key id of C2SP: `type` is 1 for a log, 4 for a witness. */
const idOf = (name: string, { raw }: SigningKey, type: number): Buffer =>
  createHash("sha256")
    .update(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), raw]))
    .digest()
    .subarray(0, 4);
const vkey = (name: string, key: SigningKey, type: number): string =>
  `${name}+${idOf(name, key, type).toString("hex")}+${Buffer.concat([Buffer.of(type), key.raw]).toString("base64")}`;

/** A certificate with a witness's cosignature under each checkpoint, as the protocol's text says it is made. */
function cosigned(text: string, name: string, key: SigningKey, at = 1_800_000_000n): string {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(at);
  return rebuilt(text, (part) =>
    part.replace(/\n\n([^]*?\n)\n((?:— .*\n)+)$/u, (_, body: string, lines: string) => {
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${at}\n${body}`), key.privateKey);
      const line = Buffer.concat([idOf(name, key, 4), time, signature]).toString("base64");
      return `\n\n${body}\n${lines}— ${name} ${line}\n`;
    }),
  );
}

let api: TestService;
let change_id: string;
let made: string;
let good: string;
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
  made = await certificate(change_id);
  ({ origin } = (await api.audit())[0]);
  good = cosigned(made, "w.example", WITNESS);
  const log = `log ${vkey(origin, LOG, 1)}`;
  const witness = `witness w1 ${vkey("w.example", WITNESS, 4)}\nwitness w2 ${vkey("o.example", OTHER, 4)}`;
  policy = file("policy", `# ours\n${log}\n${witness}\ngroup some any w1 w2\nquorum some\n`);
  file("both", `${log}\n${witness}\ngroup all all w1 w2\nquorum all\n`);
  file("none", `${log}\nquorum none\n`);
  file("other-log", `log ${vkey(origin, OTHER, 1)}\nquorum none\n`);
  file("intent.json", JSON.stringify({ principals: PRINCIPALS }));
  file("others.json", JSON.stringify({ principals: { ana: person(passkey()), bo: person(sshPen()) } }));
});

async function certificate(id: string): Promise<string> {
  const reply = await api.get(`changes/${id}/certificate`);
  expect(reply.status, reply.text).toBe(200);
  return reply.text;
}

interface Given {
  policy?: string;
  keys?: string;
  manifests?: string[];
}
const trustedBy = ({ policy: logs, keys, manifests = [] }: Given): TrustSettings => ({
  policy: logs === undefined ? undefined : readTlogPolicy(join(folder, logs)),
  people: keys === undefined ? undefined : readPolicy(join(folder, keys)),
  manifests,
});
const argsOf = ({ policy: logs, keys, manifests = [] }: Given): string[] => [
  ...(logs === undefined ? [] : ["--policy", join(folder, logs)]),
  ...(keys === undefined ? [] : ["--keys", join(folder, keys)]),
  ...manifests.flatMap((hash) => ["--manifest-hash", hash]),
];

/** Files verified here, which the Python verifier checks at the end in one process. */
const asked: { args: string[]; report: CertificateReport | string }[] = [];

/** Expected verdicts on certificates; the verifier in Python is asked of `most` of them. */
function verified(
  samples: readonly (string | Buffer)[],
  given: Given = { policy: "policy" },
  most = samples.length,
): (CertificateReport | string)[] {
  const trusted = trustedBy(given);
  return samples.map((sample, index) => {
    const report = readBy(() => verifyCertificate(Buffer.from(sample), trusted));
    if (index < most) {
      const path = file(`${asked.length}.certificate`, sample);
      asked.push({ args: ["certificate", path, ...argsOf(given), "--json"], report });
    }
    return report;
  });
}

function readBy(verify: () => CertificateReport): CertificateReport | string {
  try {
    return verify();
  } catch (error) {
    return (error as Error).message;
  }
}

const one = (sample: string, given?: Given): CertificateReport => {
  const [report] = verified([sample], given);
  if (typeof report !== "object") throw new Error(report);
  return report;
};
const rules = ({ findings }: CertificateReport) => [...new Set(findings.map(({ rule }) => rule))];

const NAMED_BY_LOG =
  "whose keys are whose is told by the intents in this file: --keys or --manifest-hash says which count";

test("a certificate tells what was consented to, by whom, with which key, and what was done", () => {
  const report = one(good);
  expect(report).toMatchObject({
    verdict: "valid",
    change_id,
    content: expect.stringContaining('"target":"ui.banner","tenant_id":"t1","tier":"standard","value":{"size":1.5e-7,'),
    checkpoint: { length: 8, signed_by: origin, witnessed_by: [{ name: "w1", at: "2027-01-15T08:00:00.000Z" }] },
    findings: [],
    remarks: [NAMED_BY_LOG],
  });
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

test("the file is of parts that stand for themselves, and short", () => {
  const files = new Map(listFiles(Buffer.from(good)));
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

test("each flipped bit is refused, or changes nothing that is reported", { timeout: 300_000 }, () => {
  const bytes = Buffer.from(good);
  const below = numbers(7);
  const stride = rounds(0, 9, 1);
  const tries = LONG ? Math.ceil(bytes.length / stride) : 200;
  const bits = Array.from({ length: tries }, (_, index) =>
    LONG ? index * stride * 8 + below(8) : below(bytes.length * 8),
  );
  const [whole] = verified([good]);
  const reports = verified(
    bits.map((bit) => flipped(bytes, bit)),
    { policy: "policy" },
    rounds(20, 60, 500),
  );
  for (const [index, report] of reports.entries()) {
    if (typeof report === "string" || report.verdict === "bad") continue;
    expect(report, `bit ${bits[index]}`).toEqual(whole);
  }
});

describe("of a change whose content was erased", () => {
  let bare: string;
  let id: string;
  beforeAll(async () => {
    const other = await service({ intent: INTENT, checkpointSigner: makeSigner(LOG) });
    ({ change_id: id } = await other.propose({ summary: "Wombat", value: '"secret"', proposer: "pat" }));
    await decide(other, ANA, "deny", { change_id: id, approver: "ana" });
    const said = { change_id: id, note: "asked for" };
    const statement = await requestStatement(other, { decision: "erase", approver: "ana", ...said });
    const reply = await other.post("erase", { actor: "ana", ...said, ...proven(ANA, statement) });
    expect(reply.status, reply.text).toBe(200);
    bare = (await other.get(`changes/${id}/certificate`)).text;
    file("of-other", `log ${vkey((await other.audit())[0].origin, LOG, 1)}\nquorum none\n`);
  });

  test("it tells what was decided and who erased it, and that the content is gone", () => {
    const report = one(bare, { policy: "of-other", keys: "intent.json" });
    expect(report).toMatchObject({
      ...{ verdict: "valid", change_id: id, erased: true, findings: [] },
      content: expect.stringContaining('"summary":"erased","target":"ui.banner"'),
      remarks: ["the content was erased by entry 4: what it said, only its digest tells"],
    });
    expect(report.steps.map(({ event, name, key }) => [event, name, !!key])).toEqual([
      ["change_proposed", "pat", false],
      ["consent_decision", "ana", true],
      ["content_erased", "ana", true],
    ]);
    expect(certificateText("x", report)).toContain('content erased by "ana" (signed with SHA256:');
    expect(new Map(listFiles(Buffer.from(bare))).has("erased.json")).toBe(true);
    expect(Buffer.from(bare).toString()).not.toContain("Wombat");
  });

  test("what is left must be what the erasure left, and an entry must say so", () => {
    const edited = rebuilt(bare, (part, name) => (name === "erased" ? part.replace("ui.banner", "ui.other") : part));
    expect(one(edited, { policy: "of-other" }).findings).toMatchObject([
      { entry: 4, rule: "content", message: "what is left of the content is not what its erasure left" },
      { entry: 2, rule: "content", message: "it names another target than the content in this file" },
    ]);
    let seen = 0;
    const silent = rebuilt(bare, (part, name) => (name === "proof" && ++seen === 3 ? null : part));
    expect(one(silent, { policy: "of-other" }).findings).toMatchObject([
      { entry: null, rule: "content", message: "the content is said to be erased, and no entry says so" },
    ]);
  });
});

describe("what does not hold is reported", () => {
  test("without a policy nobody vouches for the log", () => {
    expect(one(good, {})).toMatchObject({ verdict: "consistent", checkpoint: null, findings: [] });
    expect(one(made, { policy: "none" })).toMatchObject({ verdict: "valid", checkpoint: { witnessed_by: [] } });
  });

  test("witnesses that are missing, a log that nobody named", () => {
    expect(rules(one(made))).toEqual(["cosignature"]);
    expect(rules(one(good, { policy: "both" }))).toEqual(["cosignature"]);
    expect(rules(one(good, { policy: "other-log" }))).toEqual(["signature"]);
    expect(rules(one(cosigned(made, "w.example", OTHER)))).toEqual(["cosignature"]);
    expect(one(cosigned(good, "o.example", OTHER), { policy: "both" }).verdict).toBe("valid");
  });

  test("keys that are not the approvers', intents that are not accepted", () => {
    expect(rules(one(good, { policy: "policy", keys: "others.json" }))).toEqual(["proof", "quorum"]);
    expect(one(good, { policy: "policy", keys: "intent.json" }).verdict).toBe("valid");
    const { manifest_hash } = api.deps.product!;
    expect(one(good, { policy: "policy", manifests: [manifest_hash] }).verdict).toBe("valid");
    expect(rules(one(good, { policy: "policy", manifests: ["0".repeat(64)] }))).toEqual(["intent"]);
  });

  test("an entry that was edited, and hashed again, is not under the checkpoint", () => {
    const edited = (extra: string): string => {
      const entry = JSON.parse(Buffer.from(extra, "base64").toString()) as AuditEntry;
      const later = { ...entry, timestamp: "2026-01-02T03:04:06.000Z" };
      return Buffer.from(JSON.stringify({ ...later, current_hash: entryHash(later, sha256) })).toString("base64");
    };
    const forged = rebuilt(good, (part) =>
      part.replace(/extra (\S+)(?=\nindex 6\n)/, (_, extra: string) => `extra ${edited(extra)}`),
    );
    expect(rules(one(forged))).toEqual(["inclusion"]);
  });

  test("parts of another certificate, parts left out, parts that are edited", async () => {
    const { change_id: id } = await api.propose({ target: "ui.third" });
    const other = cosigned(await certificate(id), "w.example", WITNESS);
    const [content, intent] = [1, 2].map((place) => other.split(/\n(?=content|intent|proof)/)[place]!);
    const proof = other.slice(other.indexOf("proof ")).replace(/^proof \d+\n/, "");
    const swap = (wanted: string, text: string, at = 0) => {
      let seen = 0;
      return rebuilt(good, (part, name) => (name === wanted && seen++ === at ? text : part));
    };
    expect(rules(one(swap("content", `${content!.split("\n")[1]}\n`)))).toEqual(["content"]);
    expect(rules(one(swap("intent", `${intent!.split("\n")[1]!.replace("2026.11", "2026.12")}\n`)))).toEqual([
      "intent",
    ]);
    expect(rules(one(swap("intent", "[]\n")))).toEqual(["intent"]);
    expect(rules(one(swap("intent", "no json\n")))).toEqual(["intent"]);
    expect(rules(one(swap("proof", proof, 4)))).toEqual(["form", "content", "inclusion"]);
    expect(rules(one(swap("proof", proof.replace("index 8", "index 7"), 4)))).toEqual(["inclusion"]);
    const without = (wanted: string, at: number) => {
      let seen = 0;
      return rebuilt(good, (part, name) => (name === wanted && seen++ === at ? null : part));
    };
    expect(rules(one(without("proof", 0)))).toEqual(["form"]);
    expect(rules(one(without("proof", 1)))).toEqual(["quorum"]);
    expect(one(without("intent", 0))).toMatchObject({
      verdict: "consistent",
      remarks: [expect.stringContaining("is not in this file: what it asks of consents was not checked")],
    });
    expect(verified([without("content", 0), "", good.slice(0, -1), `${good}\n`, good.replace("v1", "v2")])).toEqual(
      Array.from({ length: 5 }, () => "this is no certificate in the one form that the service writes"),
    );
  });

  test("a step that nothing before allows: left out is what decided", async () => {
    const only = (...places: number[]) => {
      let seen = 0;
      return rebuilt(good, (part, name) => (name !== "proof" || places.includes(seen++) ? part : null));
    };
    const reported = (sample: string) => one(sample).findings.map(({ entry, rule, message }) => [entry, rule, message]);
    expect(reported(only(0, 3))).toEqual([
      [6, "form", "the change must be approved before it, and by the entries in this file it is pending_consent"],
      [6, "quorum", "it was applied with 0 of 2 consents"],
    ]);
    expect(reported(only(0, 1, 2, 4))).toEqual([
      [7, "form", "the change must be applied before it, and by the entries in this file it is approved"],
    ]);
    const partial = one(only(0, 1));
    expect(partial.verdict).toBe("valid");
    expect(partial.steps.map(({ status }) => status)).toEqual(["pending_consent", "pending_consent"]);
    expect(one(good).steps.map(({ status }) => status)).toEqual([
      "pending_consent",
      "pending_consent",
      "approved",
      "applied",
      "rolled_back",
    ]);
    expect(certificateText("x", partial)).toContain('approved by "ana", then pending_consent (');
  });

  test("consents that had to be signed, no matter who entered them", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.unsigned" });
    const { manifest_hash } = api.deps.product!;
    const consent = { decision: "approved", note: "", digest, manifest_hash, authenticated: "signature" };
    await enter(api, id, { ...consent, status: "pending_consent", approver: "ana" });
    await enter(api, id, { ...consent, status: "approved", approver: "bo" });
    const forged = cosigned(await certificate(id), "w.example", WITNESS);
    const report = one(forged);
    expect(report.verdict).toBe("bad");
    expect(report.findings.map(({ rule, message }) => [rule, message])).toEqual([
      ["proof", "ana had to sign it, and did not"],
      ["proof", "bo had to sign it, and did not"],
      ["quorum", "it was approved with 0 of 2 consents"],
    ]);
    expect(certificateText("x", report)).not.toContain("known by: signature");
    const without = rebuilt(forged, (part, name) => (name === "intent" ? null : part));
    expect(one(without)).toMatchObject({
      verdict: "consistent",
      remarks: [`the intent ${manifest_hash} is not in this file: what it asks of consents was not checked`],
    });
    expect(rules(one(without, { policy: "policy", keys: "intent.json" }))).toEqual(["proof", "quorum"]);
  });

  test("a key that is not the one that signed, and a presence that no key vouches for", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.bent" });
    const { manifest_hash } = api.deps.product!;
    const statement = await requestStatement(api, { decision: "approve", change_id: id, approver: "ana" });
    const signed = { decision: "approved", note: "", digest, manifest_hash, statement, proof: ANA.sign(statement) };
    const by = { status: "pending_consent", approver: "ana", authenticated: "signature" };
    await enter(api, id, { ...signed, ...by, key: "SHA256:another" });
    expect(one(cosigned(await certificate(id), "w.example", WITNESS)).findings).toMatchObject([
      { rule: "proof", message: "its key is not the one that made its proof" },
    ]);
    const agent = sshPen("ssh-ed25519");
    const people = file("agent.json", JSON.stringify({ principals: { ana: person(agent) } }));
    const bent = { ...signed, ...by, proof: agent.sign(statement) };
    await enter(api, id, { ...bent, key: `SHA256:${"A".repeat(43)}` });
    const { findings } = verifyCertificate(Buffer.from(await certificate(id)), {
      people: readPolicy(people),
      manifests: [],
    });
    expect(findings.at(-1)).toMatchObject({
      message: "it says that a person was verified, and its key signs by itself",
    });
  });

  test("whose word it is that a key is the approver's", () => {
    const named =
      "whose keys are whose is told by the intents in this file: --keys or --manifest-hash says which count";
    expect(one(good).remarks).toEqual([named]);
    expect(one(good, { policy: "policy", keys: "intent.json" }).remarks).toEqual([]);
    const manifests = [api.deps.product!.manifest_hash];
    expect(one(good, { policy: "policy", manifests }).remarks).toEqual([]);
  });

  test("an approval that too few consents stand behind, and one that nobody signed", async () => {
    const { change_id: id, digest } = await api.propose({ target: "ui.forged" });
    const { manifest_hash } = api.deps.product!;
    await enter(api, id, {
      decision: "approved",
      status: "approved",
      approver: "ana",
      note: "",
      digest,
      manifest_hash,
    });
    const report = one(cosigned(await certificate(id), "w.example", WITNESS));
    expect(rules(report)).toEqual(["proof", "quorum"]);
    expect(report.steps[1]).toMatchObject({ decision: "approved", name: "ana", key: null });
  });
});

test("an emergency that those who may did not consent to", async () => {
  const policy = { break_glass: { approvers: ["bo", "cy"], required: 2, review_hours: 72 } };
  const other = await service({ intent: { policy }, checkpointSigner: makeSigner(LOG) });
  const { change_id: id, digest } = await other.propose({});
  const { manifest_hash } = other.deps.product!;
  const consent = { decision: "approved", emergency: true, note: "down", digest, manifest_hash };
  await enter(other, id, { ...consent, status: "pending_consent", approver: "bo" });
  await enter(other, id, { ...consent, status: "approved", approver: "ana", review_hours: 72 });
  const { text } = await other.get(`changes/${id}/certificate`);
  expect(one(text, {}).findings).toEqual([
    { line: null, entry: 4, rule: "quorum", message: "it was approved with 1 of 2 consents for an emergency" },
  ]);
});

test("every life that the service allows is valid", async () => {
  const [CY, DI] = [passkey("EdDSA"), sshPen("ecdsa-sha2-nistp256")];
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
  const signed = async (pen: Pen, fields: Fields, decision = "approve") => {
    const { emergency: isUrgent, ...said } = fields;
    const statement = await requestStatement(other, { decision: isUrgent ? "approve_emergency" : decision, ...said });
    const reply = await other.post(decision, { ...fields, ...proven(pen, statement) });
    expect(reply.status, reply.text).toBe(200);
  };
  const lives: string[] = [];
  const begun = async (fields: Fields = {}) => {
    const { change_id: id } = await other.propose({ target: `ui.${lives.length}`, ...fields });
    lives.push(id);
    return id;
  };
  const urgent = { emergency: "true", note: "shop is down" };
  const emergency = await begun();
  await signed(CY, { change_id: emergency, approver: "cy", ...urgent });
  await signed(DI, { change_id: emergency, approver: "di", ...urgent });
  await other.must("apply", emergency);
  await signed(ANA, { change_id: emergency, approver: "ana", verdict: "not_accepted" }, "review");
  await other.must("rollback", emergency);
  const both = await begun();
  await signed(ANA, { change_id: both, approver: "ana" });
  await signed(BO, { change_id: both, approver: "bo" });
  await signed(CY, { change_id: both, approver: "cy", ...urgent });
  await signed(DI, { change_id: both, approver: "di", ...urgent });
  await other.must("apply", both);
  const revoked = await begun();
  await signed(ANA, { change_id: revoked, approver: "ana" });
  await signed(BO, { change_id: revoked, approver: "bo" });
  await signed(BO, { change_id: revoked, approver: "bo" }, "revoke");
  const denied = await begun();
  await signed(ANA, { change_id: denied, approver: "ana" });
  await signed(BO, { change_id: denied, approver: "bo" }, "deny");
  const small = { ...PROPOSAL, kind: "config", target: "ui.minor", tier: "minor", affected_users: "1", risk: "low" };
  const minor = await other.post("propose", { ...small, reversible: "true" }, { authorization: `Bearer ${secret}` });
  expect(minor.body.tier, minor.text).toBe("minor");
  lives.push(minor.body.change_id);
  await other.must("apply", minor.body.change_id);
  for (const id of lives) {
    const { text } = await other.get(`changes/${id}/certificate`);
    const { origin: own } = (await other.audit())[0];
    const policy = readTlogPolicy(file("own", `log ${vkey(own, LOG, 1)}\nquorum none\n`));
    const report = verifyCertificate(Buffer.from(text), { policy, people: undefined, manifests: [] });
    const { status } = (await other.get(`changes/${id}`)).body;
    expect([report.verdict, report.findings, report.steps.at(-1)!.status]).toEqual(["valid", [], status]);
    verified([text], {});
  }
});

/** Writes a consent into the log without the service: an entry that is rightly chained, and follows from nothing. */
const enter = ({ deps: { store, sha256 } }: TestService, change_id: string, detail: object): Promise<void> =>
  store.transact(async (tx) => {
    const head = (await readHead(tx))!;
    const event = { event_type: "consent_decision", change_id, tenant: "t1", detail } as const;
    const next = nextEntry(head, event, head.at, sha256);
    tx.put("audit", entryKey(next.entry.id), next.entry);
    tx.put("meta", "chain", next.head);
    const { value } = (await tx.get("changes", change_id))!;
    tx.put("changes", change_id, { ...value, audit: [...value.audit, next.entry.id] } as typeof value);
  });

test("the program: exit codes, its words, what it extracts", () => {
  if (pythonMissing !== null) return;
  const path = file("good.certificate", good);
  const { status, stdout } = runPython(["certificate", path, "--policy", policy]);
  expect(stdout).toBe(`${certificateText(path, one(good))}\n`);
  expect(status).toBe(0);
  const calls = [[path], [path, "--policy", join(folder, "other-log")], [path, "--manifest-hash", "x"]];
  expect(runPythonOften(calls.map((args) => ["certificate", ...args])).map((ended) => ended.status)).toEqual([2, 1, 3]);
});

const BAD_POLICIES: [text: string, why: string][] = [
  ["", "exactly one quorum is needed; quorum none asks for no witness"],
  ["log x\nquorum none", "line 1: a verifier key is needed"],
  ["quorum none\nquorum none", "line 2: log, witness, group, or one quorum is needed"],
  ["quorum w", "line 1: w is defined on no line before"],
  ["group g all\nquorum none", "line 1: a group has a name, then all, any or a number, then members, each once"],
  ["group g 2 a\nquorum none", "line 1: a group has a name, then all, any or a number, then members, each once"],
  ["group g any a\nquorum none", "line 1: a is defined on no line before"],
  ["hello\nquorum none", "line 1: log, witness, group, or one quorum is needed"],
];

test("a policy that is none is refused, with the line", () => {
  const paths = BAD_POLICIES.map(([text], index) => file(`bad-${index}`, text));
  const messages = BAD_POLICIES.map(([, why], index) => `${paths[index]} is no tlog-policy: ${why}`);
  for (const [index, path] of paths.entries()) expect(() => readTlogPolicy(path)).toThrow(messages[index]);
  if (pythonMissing !== null) return;
  const reported = runPythonOften(paths.map((path) => ["certificate", path, "--policy", path]));
  expect(reported.map(({ stderr }) => stderr)).toEqual(messages.map((message) => `verify_audit.py: ${message}\n`));
});

describe("the service", () => {
  test("gives it as a file, of a change that is there", async () => {
    const { headers } = await api.get(`changes/${change_id}/certificate`);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("content-disposition")).toBe(`attachment; filename="${change_id}.certificate"`);
    expect((await api.get("changes/chg_00000000-0000-7000-8000-00000000ffff/certificate")).status).toBe(404);
  });

  test("makes none under a checkpoint that does not cover it", async () => {
    const { change_id: id } = await api.propose({ target: "ui.late" });
    const { integrity } = api.deps;
    integrity.breach = { first_invalid: 1, reason: "edited" };
    const reply = await api.get(`changes/${id}/certificate`);
    delete integrity.breach;
    expect(reply).toMatchObject({ status: 503, body: { code: "chain_broken", first_invalid: 1 } });
    expect((await api.get(`changes/${id}/certificate`)).status).toBe(200);
  });

  test("makes none of a content that was not proposed", async () => {
    const { change_id: id } = await api.propose({ target: "ui.edited" });
    await api.deps.store.transact(async (tx) => {
      const { value } = (await tx.get("changes", id))!;
      tx.put("changes", id, { ...value, change: { ...value.change, summary: "Another" } } as typeof value);
    });
    expect((await api.get(`changes/${id}/certificate`)).body).toMatchObject({ code: "approval_stale" });
  });
});

test.skipIf(pythonMissing !== null)(
  `verify_audit.py says the same of all of them (${pythonMissing ?? "python3 is here"})`,
  { timeout: 300_000 },
  () => {
    const reported = runPythonOften(asked.map(({ args }) => args));
    expect(reported.length).toBeGreaterThan(50);
    for (const [index, { status, stdout, stderr }] of reported.entries()) {
      const { args, report } = asked[index]!;
      if (typeof report === "string") expect([status, stderr]).toEqual([3, `verify_audit.py: ${report}\n`]);
      else expect(JSON.parse(stdout), `${args.join(" ")}: ${stderr}`).toEqual(report);
    }
  },
);
