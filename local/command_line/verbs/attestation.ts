/** Verbs that download and verify attestations. */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Envelope, keyId, signedBytes } from "../../../lib/kit/dsse.ts";
import { sha256 } from "../../node_ports.ts";
import { NotDone, UsageError } from "../exit.ts";
import type { VerbCall, Verb } from "../verb.ts";

/** Downloads the attestation of a change. */
export const attestationGet: Verb = {
  usage: "attestation get <change_id>",
  operation: "GET /api/product/changes/{change_id}/attestation",
  options: { "--output <file>": "write to this file instead of the output" },
  plain: true,
  async run({ client, save }, { args: { change_id = "" }, options: { output } }) {
    const params = { path: { change_id } };
    const path = "/api/product/changes/{change_id}/attestation";
    await save(await client.download(path, { params }), output as string | undefined);
    return {};
  },
};

interface Statement {
  _type: string;
  subject: { name: string; digest: Record<string, string>; annotations?: { tenant_id?: string } }[];
  predicateType: string;
  predicate: { timeCreated: string; properties: string[] };
}

/** Verifies an attestation offline. */
export const attestationVerify: Verb = {
  usage: "attestation verify <file>",
  summary: "Verify an attestation with the service's public key",
  options: {
    "--key <pem>": "file with the public key",
    "--commit <id>": "require that it releases this commit; needs --target and --tenant-id",
    "--target <target>": "where the commit is released, such as deploy/42/production",
    "--tenant-id <id>": "for which tenant it is released",
    "--change <id>": "require that it is about this change",
    "--digest <sha256>": "require that the change has this content",
  },
  isLocal: true,
  async run(_, { args: { file = "" }, options }) {
    const { key } = options;
    if (typeof key !== "string") throw new UsageError("--key is required: the service's public key in PEM");
    const statement = readStatement(readText(file), readKey(readText(key)));
    const { subject, predicate } = statement;
    requireSubject(statement, options);
    const subjectLines = subject.map(({ name, digest }) => `  ${name}  ${Object.entries(digest).flat().join(" ")}`);
    const text = [`valid: ${predicate.properties.join(", ")}, ${predicate.timeCreated}`, ...subjectLines].join("\n");
    return { text, json: statement };
  },
};

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === "ed25519" && !pem.includes("PRIVATE")) return key;
  } catch {
    // reported below
  }
  throw new UsageError("--key must hold an Ed25519 public key in PEM: openssl pkey -in attestation.pem -pubout");
}

/** Returns the statement in an envelope that the key signed. Errors: `NotDone`. */
function readStatement(text: string, key: KeyObject): Statement {
  const { payloadType, payload, signatures } = parse<Envelope>(text);
  const { x } = key.export({ format: "jwk" });
  const keyid = keyId(new Uint8Array(Buffer.from(x!, "base64url")), sha256);
  if (payloadType !== "application/vnd.in-toto+json" || !Array.isArray(signatures))
    throw new NotDone("it is not an envelope of an in-toto Statement");
  const bytes = new Uint8Array(Buffer.from(String(payload), "base64"));
  const isSigned = signatures.some(
    (one: Partial<Envelope["signatures"][number]> | null) =>
      one?.keyid === keyid &&
      typeof one.sig === "string" &&
      verify(null, signedBytes(payloadType, bytes), key, Buffer.from(one.sig, "base64")),
  );
  if (!isSigned) throw new NotDone("not valid: the key did not sign it");
  const statement = parse<Statement>(Buffer.from(bytes).toString("utf8"));
  const attestsChange =
    statement["_type"] === "https://in-toto.io/Statement/v1" &&
    statement.predicateType === "https://in-toto.io/attestation/svr/v0.2" &&
    statement.predicate.properties.includes("COUNTERSIGN_CHANGE_APPROVED");
  if (!attestsChange) throw new NotDone("not valid: the key signed it, but it attests no approved change");
  return statement;
}

function parse<T>(text: string): T {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as T;
  } catch {
    // reported below
  }
  throw new NotDone("the file is not a JSON object");
}

/** Requires the requested subjects. Errors: `NotDone`, `UsageError`. */
function requireSubject(
  { subject }: Statement,
  { commit, target, tenantId, change, digest }: VerbCall["options"],
): void {
  const release = [commit, target, tenantId];
  if (release.includes(undefined) && release.some((one) => one !== undefined))
    throw new UsageError(
      "--commit, --target and --tenant-id must be given together: a commit can be released elsewhere too",
    );
  const requirements: [value: unknown, problem: string, matches: (one: Statement["subject"][number]) => boolean][] = [
    // A target can look like a change id. Only the subject of a change has a SHA-256 digest.
    [change, `is not about the change ${change}`, (one) => one.name === change && one.digest["sha256"] !== undefined],
    [digest, `is not about the content ${digest}`, (one) => one.digest["sha256"] === digest],
    [
      commit,
      `does not release commit ${commit} to ${target} for tenant ${tenantId}`,
      (one) => one.digest["gitCommit"] === commit && one.name === target && one.annotations?.tenant_id === tenantId,
    ],
  ];
  for (const [value, problem, matches] of requirements)
    if (value !== undefined && !subject.some(matches)) throw new NotDone(`not valid: it ${problem}`);
}
