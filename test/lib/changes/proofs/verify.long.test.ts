/** Verification of proofs: signatures by passkeys and SSH keys, and altered ones, which are rejected. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifyProof } from "../../../../lib/changes/proofs/verify_proof.ts";
import { signingKeyId } from "../../../../lib/changes/rules/key_material.ts";
import { keySchema } from "../../../../lib/changes/rules/keys.ts";
import type { KnownKey } from "../../../../lib/changes/rules/signing.ts";
import { sha256 } from "../../../../local/node_ports.ts";
import type { Proof } from "../../../../lib/changes/rules/proof.ts";
import { FULL } from "../../../support/run_length.ts";
import {
  encodeSshSignature,
  type AssertionChanges,
  passkey,
  sshSigner,
  decodeSshSignature,
} from "../../../support/passkeys.ts";

const STATEMENT = '{"decision":"approve","note":"é"}';
const toKnownKey = (line: object): KnownKey => {
  const key = keySchema().parse(line);
  return { ...key, id: signingKeyId(key, sha256) };
};

/** Returns the reason why a proof is rejected, or "" if it is valid. */
async function findFault(proof: Proof, key: object, statement = STATEMENT): Promise<string> {
  const verified = await verifyProof(proof, statement, [toKnownKey(key)]);
  return "invalid" in verified ? verified.invalid : "";
}

const SIGNERS = {
  ES256: passkey("ES256"),
  EdDSA: passkey("EdDSA"),
  RS256: passkey("RS256"),
  "sk-ssh-ed25519": sshSigner("sk-ssh-ed25519@openssh.com"),
  "sk-ecdsa": sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"),
  "ssh-ed25519": sshSigner("ssh-ed25519"),
  ecdsa: sshSigner("ecdsa-sha2-nistp256"),
};

describe.each(Object.entries(SIGNERS))("%s", (_, { key, sign }) => {
  test("makes a proof that is valid for the signed statement only", async () => {
    for (let count = 0; count < 10; count++) expect(await findFault(sign(STATEMENT), key)).toBe("");
    expect(await findFault(sign(STATEMENT), key, `${STATEMENT} `)).not.toBe("");
    expect(await findFault(sign(`${STATEMENT} `), key)).not.toBe("");
  });

  const findAccepted = async (
    flips: (value: string) => Iterable<string>,
  ): Promise<[tried: number, accepted: string[]]> => {
    const proof = sign(STATEMENT);
    const accepted: string[] = [];
    let tried = 0;
    for (const [field, value] of Object.entries(proof).filter(([name]) => name !== "type"))
      for (const flipped of flips(value)) {
        tried++;
        if ((await findFault({ ...proof, [field]: flipped } as Proof, key)) === "")
          accepted.push(`${field} ${flipped}`);
      }
    return [tried, accepted];
  };

  test("makes a proof that is invalid after a flip of any bit of the decoded data", async () => {
    const [tried, accepted] = await findAccepted((value) =>
      value.includes("-----") ? armourFlips(value) : byteFlips(value),
    );
    expect(accepted).toEqual([]);
    expect(tried).toBeGreaterThan(FULL ? 1000 : 200);
  });

  test("makes a proof that is invalid after a flip of any bit of the encoded text", async () => {
    const [tried, accepted] = await findAccepted(textFlips);
    expect(accepted).toEqual([]);
    expect(tried).toBeGreaterThan(FULL ? 1000 : 200);
  });

  test("makes a proof that is invalid when it is shortened or extended", async () => {
    const proof = sign(STATEMENT);
    for (const [field, value] of Object.entries(proof).filter(([name]) => name !== "type"))
      for (const altered of [
        "",
        value.slice(1),
        value.slice(0, -2),
        `${value}A`,
        `${value}AAAA`,
        ...(proof.type === "ssh" ? [] : [` ${value}`]),
        value + value,
      ])
        expect(await findFault({ ...proof, [field]: altered } as Proof, key), `${field} ${altered}`).not.toBe("");
  });
});

/** Returns copies with one flipped bit: every fifth bit, or each one in the full run. */
function* flipEachBit(bytes: Buffer): Generator<Buffer> {
  for (let bit = 0; bit < bytes.length * 8; bit += FULL ? 1 : 5) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield flipped;
  }
}

function* byteFlips(text: string): Generator<string> {
  for (const flipped of flipEachBit(Buffer.from(text, "base64url"))) yield flipped.toString("base64url");
}

function* armourFlips(text: string): Generator<string> {
  for (const flipped of flipEachBit(decodeSshSignature(text))) yield encodeSshSignature(flipped);
}

function* textFlips(text: string): Generator<string> {
  for (const flipped of flipEachBit(Buffer.from(text, "latin1"))) yield flipped.toString("latin1");
}

describe("a passkey", () => {
  const { key, sign } = passkey();
  const withMember = (json: string): AssertionChanges => ({ rewrite: (text) => text.replace("{", `{"x":${json},`) });
  // Bits of flags: 1 a person is present, 4 is verified, 8 the key may be backed up, 16 is backed up.
  test.each<[string, AssertionChanges, string]>([
    ["another origin", { origin: "https://evil.example" }, "asked for by a page of https://evil.example"],
    ["an origin below the relying party that is not listed", { origin: "https://a.gov.acme.example" }, "a page of"],
    ["another port", { origin: "https://gov.acme.example:8443" }, "a page of"],
    ["another relying party", { rp_id: "evil.example" }, "not given for gov.acme.example"],
    ["no person present", { flags: 4 }, "nobody was present"],
    ["a person not verified", { flags: 1 }, "not verified"],
    ["the backup flag without the flag that allows backups", { flags: 21 }, "contradict"],
    ["a registration", { type: "webauthn.create" }, "no assertion"],
    ["another challenge", { challenge: "AAAA" }, "another statement"],
    [
      "a challenge that is repeated",
      { rewrite: (text) => text.replace("{", '{"challenge":"AAAA",') },
      "repeats the member",
    ],
    [
      "a member that is repeated with an escape",
      { rewrite: (text) => text.replace("{", '{"\\u0074ype":"webauthn.create",') },
      "repeats the member",
    ],
    ["client data nested too deep", withMember("[".repeat(65) + "]".repeat(65)), "nested deeper than 64 levels"],
    ["a lone surrogate in the client data", withMember('"\\ud800"'), "not well-formed Unicode"],
    ["a number that is too large", withMember("1".repeat(5000)), "a number that is too large"],
    ["client data that is not JSON", withMember("NaN"), "not valid JSON"],
    ["a frame in another site's page", { client: { crossOrigin: true } }, "inside a page"],
    ["a top origin", { client: { topOrigin: "https://gov.acme.example" } }, "inside a page"],
  ])("is rejected with %s", async (_, altered, reason) => {
    expect(await findFault(sign(STATEMENT, altered), key)).toContain(reason);
  });

  test("may be backed up, with any counter and additional members of the client data", async () => {
    expect(await findFault(sign(STATEMENT, { flags: 29, client: { other_keys_can_be_added_here: "yes" } }), key)).toBe(
      "",
    );
  });

  test("is accepted from its listed origins, by default from the origin of its relying party", async () => {
    const origins = ["https://a.acme.example:8443", "https://acme.example"];
    const listed = passkey("ES256", { rp_id: "acme.example", origins });
    for (const origin of origins) expect(await findFault(listed.sign(STATEMENT, { origin }), listed.key)).toBe("");
    expect(await findFault(listed.sign(STATEMENT, { origin: "https://b.acme.example" }), listed.key)).toContain(
      "a page of",
    );
    const local = passkey("ES256", { rp_id: "localhost" });
    expect(await findFault(local.sign(STATEMENT, { origin: "http://localhost:8420" }), local.key)).toBe("");
    for (const origin of ["http://localhost.evil.example", "http://localhost:8420/", "http://127.0.0.1:8420"])
      expect(await findFault(local.sign(STATEMENT, { origin }), local.key)).toContain("a page of");
  });

  test("does not verify a signature of another passkey", async () => {
    expect(await findFault(passkey().sign(STATEMENT), key)).toContain("no key that the intent lists");
    const other = passkey().sign(STATEMENT);
    expect(await findFault({ ...other, credential_id: key.credential_id }, key)).toContain("not of this key");
  });
});

describe("an SSH key", () => {
  test.each(["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] as const)(
    "of the type %s requires the presence and the verification of a person",
    async (type) => {
      const { key, sign } = sshSigner(type);
      expect(await findFault(sign(STATEMENT, { flags: 4 }), key)).toContain("nobody was present");
      expect(await findFault(sign(STATEMENT, { flags: 1 }), key)).toContain("not verified");
    },
  );

  test("is accepted in the namespace countersign-consent only", async () => {
    const { key, sign } = sshSigner();
    for (const namespace of ["git", "file", "", "countersign-consent2"])
      expect(await findFault(sign(STATEMENT, { namespace }), key)).toContain("namespace");
    expect(await findFault(sign(STATEMENT, { hash: "sha256" }), key)).toBe("");
  });

  test("is read with any line width, line ends and surrounding blanks", async () => {
    const { key, sign } = sshSigner();
    const { signature } = sign(STATEMENT);
    const text = decodeSshSignature(signature).toString("base64");
    const withLongLine = `-----BEGIN SSH SIGNATURE-----\n${text}\n-----END SSH SIGNATURE-----`;
    expect(await findFault({ type: "ssh", signature: withLongLine }, key)).toBe("");
    expect(await findFault({ type: "ssh", signature: ` \n${signature.replaceAll("\n", "\r\n")}\t` }, key)).toBe("");
    const extended = encodeSshSignature(Buffer.concat([decodeSshSignature(signature), Buffer.alloc(3)]));
    expect(await findFault({ type: "ssh", signature: extended }, key)).not.toBe("");
    for (const invalid of [signature.replaceAll("\n", " "), "signed, ana", extended])
      expect(await findFault({ type: "ssh", signature: invalid }, key)).toContain("no SSH signature that can be read");
    expect(await findFault(sshSigner().sign(STATEMENT), key)).toContain(
      "of no key that the intent lists under this name",
    );
  });
});

const probe = spawnSync("ssh-keygen", ["-?"]);
const skipReason = probe.error ? "there is no ssh-keygen here" : undefined;
if (skipReason) process.stderr.write(`stock ssh-keygen is not tried: ${skipReason}\n`);

describe.skipIf(skipReason !== undefined)("stock ssh-keygen", () => {
  const folder = mkdtempSync(join(tmpdir(), "ssh-"));
  const writeTestFile = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const isValid = (publicKey: string, signature: string, statement = STATEMENT): boolean => {
    const [type, blob] = publicKey.split(" ");
    const signers = writeTestFile("signers", `ana namespaces="countersign-consent" ${type} ${blob}\n`);
    const args = ["-Y", "verify", "-f", signers, "-I", "ana", "-n", "countersign-consent"];
    return spawnSync("ssh-keygen", [...args, "-s", writeTestFile("sig", signature)], { input: statement }).status === 0;
  };

  test.each([
    ["ed25519", "256"],
    ["ecdsa", "256"],
  ])("makes a signature with %s that is accepted here", async (type, bits) => {
    const path = join(folder, type);
    execFileSync("ssh-keygen", ["-q", "-t", type, "-b", bits, "-N", "", "-C", "ana", "-f", path]);
    execFileSync("ssh-keygen", [
      "-q",
      "-Y",
      "sign",
      "-f",
      path,
      "-n",
      "countersign-consent",
      writeTestFile(`${type}.txt`, STATEMENT),
    ]);
    const public_key = readFileSync(`${path}.pub`, "utf8").trim();
    const signature = readFileSync(`${path}.txt.sig`, "utf8");
    expect(await findFault({ type: "ssh", signature }, { type: "ssh", public_key, unattended: true })).toBe("");
    expect(isValid(public_key, signature)).toBe(true);
    const fingerprint = execFileSync("ssh-keygen", ["-l", "-f", `${path}.pub`], { encoding: "utf8" });
    expect(fingerprint.split(" ")[1]).toBe(toKnownKey({ type: "ssh", public_key, unattended: true }).id);
  });

  test.each(["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] as const)(
    "verifies a signature of %s",
    (type) => {
      const { key, sign } = sshSigner(type);
      for (let count = 0; count < 5; count++) expect(isValid(key.public_key, sign(STATEMENT).signature)).toBe(true);
      expect(isValid(key.public_key, sign(STATEMENT).signature, `${STATEMENT}\n`)).toBe(false);
    },
  );
});
