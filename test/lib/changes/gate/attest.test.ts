/** Attestations of changes, checked by a DSSE verifier of this test, by openssl, by sigstore and by the command line. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Envelope, signedBytes } from "../../../../lib/kit/dsse.ts";
import { gateAdapter } from "../../../../lib/targets/gate.ts";
import { scriptedAdapter } from "../../../support/scripted_adapter.ts";
import { restartDeps } from "../../../support/deps.ts";
import { service, makeService, type TestService } from "../../../support/service.ts";
import { openCommandLine } from "../../../local/command_line/open_command_line.ts";

const COMMIT = "a".repeat(40);
const TARGET = "deploy/42/production";
const VALUE = JSON.stringify({ repository_id: 42, environment: "production", head: COMMIT });
const KEY_PAIR = generateKeyPairSync("ed25519");
const OTHER_KEY_PAIR = generateKeyPairSync("ed25519");

const toAttestationSigner = ({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }) => ({
  publicKey: new Uint8Array(Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url")),
  sign: (text: Uint8Array) => new Uint8Array(sign(null, text, privateKey)),
});

const targets = () => [
  { name: "deploys", match: ["deploy/*"], adapter: gateAdapter("deploys") },
  { name: "rest", match: ["*"], adapter: scriptedAdapter() },
];
const serviceWithKey = (options = {}) =>
  service({ attestationSigner: toAttestationSigner(KEY_PAIR), targets: targets(), ...options });
const RELEASE = { target: TARGET, value: VALUE };
const fetchAttestation = (api: TestService, id: string) => api.get(`changes/${id}/attestation`);
const readStatement = ({ payload }: Envelope) => JSON.parse(Buffer.from(payload, "base64").toString("utf8"));

/** Verifies an envelope by the DSSE specification alone: PAE(type, body) = "DSSEv1" + SP + LEN(type) + SP + type + SP + LEN(body) + SP + body. */
function isSignedBy(envelope: Envelope, key: KeyObject): boolean {
  const body = Buffer.from(envelope.payload, "base64");
  const type = Buffer.from(envelope.payloadType, "utf8");
  const space = Buffer.from(" ");
  const length = (bytes: Buffer) => Buffer.from(String(bytes.byteLength));
  const pae = Buffer.concat([Buffer.from("DSSEv1 "), length(type), space, type, space, length(body), space, body]);
  return envelope.signatures.some(({ sig }) => verify(null, pae, key, Buffer.from(sig, "base64")));
}

test("an attestation of an allowed release names its change, content and commit", async () => {
  const api = await serviceWithKey({ publicUrl: "https://gov.acme.example" });
  const id = await api.bring("approved", RELEASE);
  const { digest } = await api.change(id);
  const before = await api.audit();
  const { status, body: envelope } = await fetchAttestation(api, id);
  expect(status).toBe(200);
  const policy = {
    uri: "https://gov.acme.example/api/product/intent",
    digest: { sha256: api.deps.product!.manifest_hash },
  };
  expect(readStatement(envelope)).toEqual({
    _type: "https://in-toto.io/Statement/v1",
    subject: [
      { name: id, digest: { sha256: digest }, annotations: { tenant_id: "t1" } },
      { name: TARGET, digest: { gitCommit: COMMIT }, annotations: { tenant_id: "t1" } },
    ],
    predicateType: "https://in-toto.io/attestation/svr/v0.2",
    predicate: {
      verifier: { id: "https://gov.acme.example", policies: [policy] },
      timeCreated: api.deps.clock.iso(),
      properties: ["COUNTERSIGN_CHANGE_APPROVED"],
    },
  });
  const spki = KEY_PAIR.publicKey.export({ format: "der", type: "spki" });
  expect(envelope.signatures).toHaveLength(1);
  expect(envelope.signatures[0].keyid).toBe(createHash("sha256").update(spki).digest("hex"));
  expect(await api.audit()).toEqual(before);
  await api.must("apply", id);
  const applied = readStatement((await fetchAttestation(api, id)).body);
  expect(applied.predicate.properties).toEqual(["COUNTERSIGN_CHANGE_APPROVED", "COUNTERSIGN_CHANGE_APPLIED"]);
});

test("a change that is no release is attested while it is applied and owns its target", async () => {
  const api = await serviceWithKey();
  const { change_id: id } = await api.propose();
  const expectRejection = async (reason: string) =>
    expect(await fetchAttestation(api, id)).toMatchObject({
      status: 409,
      body: { code: "not_in_force", error: expect.stringContaining(reason) },
    });
  await expectRejection("it is pending_consent");
  await api.must("approve", id);
  await expectRejection("it is approved");
  await api.must("apply", id);
  const { subject, predicate } = readStatement((await fetchAttestation(api, id)).body);
  const { digest } = await api.change(id);
  expect(subject).toEqual([{ name: id, digest: { sha256: digest }, annotations: { tenant_id: "t1" } }]);
  expect(predicate.verifier.id).toMatch(/^urn:countersign:acme-crm%2Faudit%2F/);
  const later = await api.bring("applied");
  await expectRejection(`ui.banner belongs to ${later} now`);
  await api.must("rollback", later);
  expect((await fetchAttestation(api, id)).status).toBe(200);
  await api.must("rollback", id);
  await expectRejection("it is rolled_back");
});

test("the policy of an attestation is the intent under which the change was approved", async () => {
  const api = await serviceWithKey();
  const [other, released] = [await api.bring("applied"), await api.bring("applied", RELEASE)];
  const before = api.deps.product!.manifest_hash;
  const intent = { update_epoch: 9, policy: { required_approvers: { standard: 2 } } };
  const options = { adapter: undefined, intent, attestationSigner: toAttestationSigner(KEY_PAIR), targets: targets() };
  const later = makeService(await restartDeps(api.deps, options));
  // The new intent requires two consents; this change was applied with one, under the earlier intent.
  const { policies } = readStatement((await fetchAttestation(later, other)).body).predicate.verifier;
  expect(policies).toMatchObject([{ digest: { sha256: before } }]);
  expect(later.deps.product!.manifest_hash).not.toBe(before);
  // A release is judged under the current intent, which requires a second consent.
  expect((await fetchAttestation(later, released)).body.code).toBe("not_in_force");
});

test("a release that the gate does not allow is not attested", async () => {
  const api = await serviceWithKey();
  const { change_id: id } = await api.propose(RELEASE);
  expect((await fetchAttestation(api, id)).body).toMatchObject({
    code: "not_in_force",
    error: expect.stringContaining("waits for 1"),
  });
  await api.must("approve", id);
  await api.post("freeze", { actor: "ops" });
  expect((await fetchAttestation(api, id)).body).toMatchObject({
    code: "not_in_force",
    error: expect.stringContaining("frozen"),
  });
  await api.post("unfreeze", { actor: "ops" });
  const newer = await api.bring("approved", RELEASE);
  // Only the newer one of two changes with the same commit is attested.
  expect((await fetchAttestation(api, id)).body).toMatchObject({
    code: "not_in_force",
    error: expect.stringContaining(newer),
  });
  expect((await fetchAttestation(api, newer)).status).toBe(200);
});

test("a change whose target no system covers is not attested", async () => {
  const api = await serviceWithKey();
  const id = await api.bring("applied", RELEASE);
  const targets = [{ name: "rest", match: ["ui.*"], adapter: scriptedAdapter() }];
  const options = { adapter: undefined, attestationSigner: toAttestationSigner(KEY_PAIR), targets };
  const later = makeService(await restartDeps(api.deps, options));
  expect(await fetchAttestation(later, id)).toMatchObject({ status: 409, body: { code: "not_in_force" } });
});

test("an unknown change, edited content and a missing key have separate error codes", async () => {
  const api = await serviceWithKey();
  expect((await fetchAttestation(api, "chg_none")).body.code).toBe("change_not_found");
  const id = await api.bring("applied");
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", id))!.value;
    tx.put("changes", id, { ...record, change: { ...record.change, summary: "Another" } });
  });
  expect((await fetchAttestation(api, id)).body.code).toBe("approval_stale");
  const withoutKey = await service();
  expect((await fetchAttestation(withoutKey, await withoutKey.bring("applied"))).body.code).toBe("not_found");
});

/** Creates an attestation and writes it and its key to files. */
async function writeAttestation() {
  const api = await serviceWithKey();
  const id = await api.bring("applied", RELEASE);
  const envelope = (await fetchAttestation(api, id)).body as Envelope;
  const folder = mkdtempSync(join(tmpdir(), "attest-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const writeTestFile = (name: string, content: string | Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const pem = (key: KeyObject) => key.export({ format: "pem", type: "spki" }) as string;
  const files = {
    attestation: writeTestFile("attestation.json", JSON.stringify(envelope)),
    key: writeTestFile("key.pub", pem(KEY_PAIR.publicKey)),
    other: writeTestFile("other.pub", pem(OTHER_KEY_PAIR.publicKey)),
  };
  return { api, id, envelope, writeTestFile, files };
}

/** Returns the envelope with another commit in the statement and the same signature. */
const withOtherCommit = (envelope: Envelope): Envelope => ({
  ...envelope,
  payload: Buffer.from(JSON.stringify(readStatement(envelope)).replaceAll(COMMIT, "b".repeat(40))).toString("base64"),
});

describe("an attestation, but none with another key or payload, is accepted by", () => {
  test("a verifier written from the DSSE specification", async () => {
    const { envelope } = await writeAttestation();
    expect(isSignedBy(envelope, KEY_PAIR.publicKey)).toBe(true);
    expect(isSignedBy(envelope, OTHER_KEY_PAIR.publicKey)).toBe(false);
    expect(isSignedBy(withOtherCommit(envelope), KEY_PAIR.publicKey)).toBe(false);
    expect(isSignedBy({ ...envelope, payloadType: "application/json" }, KEY_PAIR.publicKey)).toBe(false);
  });

  test.skipIf(spawnSync("openssl", ["version"]).status !== 0)("openssl", async () => {
    const { envelope, writeTestFile, files } = await writeAttestation();
    const openssl = (candidate: Envelope, key: string): boolean => {
      const pae = writeTestFile("pae", signedBytes(candidate.payloadType, Buffer.from(candidate.payload, "base64")));
      const sig = writeTestFile("sig", Buffer.from(candidate.signatures[0]!.sig, "base64"));
      try {
        const args = ["pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", pae, "-sigfile", sig];
        execFileSync("openssl", args, { stdio: "ignore" });
        return true;
      } catch {
        return false;
      }
    };
    const results = [
      openssl(envelope, files.key),
      openssl(envelope, files.other),
      openssl(withOtherCommit(envelope), files.key),
    ];
    expect(results).toEqual([true, false, false]);
  });

  const npm = join(dirname(process.execPath), "../lib/node_modules/npm/package.json");
  test.skipIf(!existsSync(npm))("sigstore's verifier, as npm ships it", async () => {
    const require = createRequire(npm);
    const { bundleFromJSON } = require("@sigstore/bundle");
    const { toSignedEntity, toTrustMaterial, Verifier } = require("@sigstore/verify");
    const { envelope } = await writeAttestation();
    const sigstore = (candidate: Envelope, publicKey: KeyObject): boolean => {
      const bundle = bundleFromJSON({
        mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
        verificationMaterial: { publicKey: { hint: candidate.signatures[0]!.keyid }, tlogEntries: [] },
        dsseEnvelope: candidate,
      });
      const roots = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
      const findKey = () => ({ publicKey, validFor: () => true });
      const verifier = new Verifier(toTrustMaterial(roots, findKey), {
        tlogThreshold: 0,
        ctlogThreshold: 0,
        timestampThreshold: 0,
      });
      try {
        verifier.verify(toSignedEntity(bundle));
        return true;
      } catch {
        return false;
      }
    };
    const results = [
      sigstore(envelope, KEY_PAIR.publicKey),
      sigstore(envelope, OTHER_KEY_PAIR.publicKey),
      sigstore(withOtherCommit(envelope), KEY_PAIR.publicKey),
    ];
    expect(results).toEqual([true, false, false]);
  });

  test("countersign attestation verify, which also checks change, content and commit", async () => {
    const { api, id, envelope, writeTestFile, files } = await writeAttestation();
    const { call } = await openCommandLine();
    const runVerify = async (file: string, key: string, ...more: string[]) =>
      (await call(["attestation", "verify", file, "--key", key, ...more])).code;
    const { digest } = await api.change(id);
    const releaseArgs = (commit: string, target: string, tenant: string) =>
      ["--commit", commit, "--target", target, "--tenant-id", tenant] as const;
    const all = ["--change", id, "--digest", digest, ...releaseArgs(COMMIT, TARGET, "t1")];
    expect(await call(["attestation", "verify", files.attestation, "--key", files.key, ...all])).toMatchObject({
      code: 0,
      out: expect.stringContaining(`valid: COUNTERSIGN_CHANGE_APPROVED, COUNTERSIGN_CHANGE_APPLIED`),
    });
    expect([
      await runVerify(files.attestation, files.other),
      await runVerify(writeTestFile("edited.json", JSON.stringify(withOtherCommit(envelope))), files.key),
      await runVerify(files.attestation, files.key, ...releaseArgs("b".repeat(40), TARGET, "t1")),
      await runVerify(files.attestation, files.key, ...releaseArgs(COMMIT, "deploy/42/staging", "t1")),
      await runVerify(files.attestation, files.key, ...releaseArgs(COMMIT, TARGET, "t2")),
      await runVerify(files.attestation, files.key, ...releaseArgs(COMMIT, id, "t1")),
      await runVerify(files.attestation, files.key, "--change", "chg_other"),
      // The name of a target does not count as that of a change.
      await runVerify(files.attestation, files.key, "--change", TARGET),
      await runVerify(files.attestation, files.key, "--digest", "0".repeat(64)),
      await runVerify(writeTestFile("none.json", "{}"), files.key),
    ]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    // Exit code 2, wrong usage: --commit, --target and --tenant-id need each other.
    expect(await runVerify(files.attestation, files.key, "--commit", COMMIT)).toBe(2);
    expect(await runVerify(files.attestation, files.key, "--commit", COMMIT, "--target", TARGET)).toBe(2);
    expect(await runVerify(files.attestation, files.key, "--target", TARGET, "--tenant-id", "t1")).toBe(2);
    const unsigned = writeTestFile("null.json", JSON.stringify({ ...envelope, signatures: [null] }));
    expect(await call(["attestation", "verify", unsigned, "--key", files.key])).toMatchObject({
      code: 1,
      err: expect.stringContaining("the key did not sign it"),
    });
    const pem = KEY_PAIR.privateKey.export({ format: "pem", type: "pkcs8" }) as string;
    expect(await runVerify(files.attestation, writeTestFile("private.pem", pem))).toBe(2);
    expect((await call(["attestation", "verify", files.attestation])).code).toBe(2);
  });
});
