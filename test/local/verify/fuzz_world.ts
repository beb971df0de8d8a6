/** The starting point of the fuzz test: a real log with signed decisions, contents, intents and all keys. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { service } from "../../support/service.ts";
import { postSignedAction, decide, type Signer, person, proofFields, requestStatement } from "../../support/signed.ts";
import { keyPair } from "../../support/independent_witness.ts";
import { data, MTH, PATH } from "../../lib/audit/reference_tree.ts";
import { makeCheckpoint, newKey, parse, makeSigner, type SigningKey, write } from "../../tamper/world.ts";

/** A passkey whose client data a test writes byte for byte; `flags` are those of the authenticator data. */
export interface RawPasskey {
  key: { type: "webauthn"; credential_id: string; public_key: string; rp_id: string };
  sign(statement: string): object;
  signBytes(client: Buffer, flags?: number): object;
}

function rawPasskey(rp_id: string): RawPasskey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest();
  const credential_id = "cmF3LXBhc3NrZXk";
  const public_key = publicKey.export({ type: "spki", format: "der" }).toString("base64url");
  // Flags 5: the user is present and verified. The last four bytes are the signature counter.
  const signBytes = (client: Buffer, flags = 5) => {
    const bytes = Buffer.concat([sha256(rp_id), Buffer.of(flags, 0, 0, 0, 7)]);
    const signature = sign("sha256", Buffer.concat([bytes, sha256(client)]), privateKey);
    const encoded = { authenticator_data: bytes.toString("base64url"), client_data_json: client.toString("base64url") };
    return { type: "webauthn", credential_id, ...encoded, signature: signature.toString("base64url") };
  };
  const signStatement = (statement: string) => {
    const challenge = sha256(statement).toString("base64url");
    const clientData = { type: "webauthn.get", challenge, origin: `https://${rp_id}`, crossOrigin: false };
    return signBytes(Buffer.from(JSON.stringify(clientData)));
  };
  return { key: { type: "webauthn", credential_id, public_key, rp_id }, sign: signStatement, signBytes };
}

/** The line of a content or intent in an export, and the id of the entry that it follows. */
export interface Carried {
  after: number;
  line: string;
}

export interface FuzzWorld {
  entries: AuditEntry[];
  carried: Carried[];
  /** Signers by the names of their people. */
  pens: Record<string, Signer>;
  /** The passkey of eve. */
  raw: RawPasskey;
  /** The key that signs checkpoints of the log. */
  key: SigningKey;
  witness: ReturnType<typeof keyPair>;
  /** By change: the content, and whether it is what an erasure left. */
  contents: Map<string, { content: string; erased: boolean }>;
  /** Intents by their hash. */
  manifests: Map<string, string>;
  /** A tlog-policy that trusts the log and requires its witness. */
  policy: string;
}

/** The secret of the agent that proposes a minor change. */
const SECRET = "the secret of an agent that tunes";

let world: Promise<FuzzWorld> | undefined;

/** Returns the world of this process; no test changes it. */
export const fuzzWorld = (): Promise<FuzzWorld> => (world ??= makeWorld());

/** Creates the log only by requests to a service. */
async function makeWorld(): Promise<FuzzWorld> {
  const raw = rawPasskey("gov.acme.example");
  const pens: Record<string, Signer> = {
    ana: passkey("ES256"),
    bo: sshSigner("ssh-ed25519"),
    cy: passkey("RS256"),
    dora: sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"),
    // Its proofs are plain objects, which have the members of a proof but not its type.
    eve: raw as unknown as Signer,
  };
  const key = newKey();
  const people = Object.fromEntries(Object.entries(pens).map(([name, pen]) => [name, person(pen)]));
  const token_sha256 = createHash("sha256").update(SECRET).digest("hex");
  const principals = { ...people, "agent:tuner": { kind: "agent", token_sha256 } };
  const policy = {
    required_approvers: { standard: 2 },
    approvers: ["ana", "bo", "eve"],
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 100, agents: true },
    break_glass: { approvers: ["cy", "dora"], required: 1, review_hours: 72 },
  };
  const api = await service({ intent: { principals, policy }, checkpointSigner: makeSigner(key) });
  // Each note has quotes and U+2028, which programs escape in different ways.
  const approve = (change_id: string, name: string) =>
    decide(api, pens[name]!, "approve", { change_id, approver: name, note: `"${name}"\u2028` });
  const done = await api.propose({ target: "ui.done", proposer: "pat" });
  await approve(done.change_id, "ana");
  await approve(done.change_id, "eve");
  await api.must("apply", done.change_id);
  await api.must("rollback", done.change_id);
  const small = { tenant_id: "t1", kind: "config", target: "ui.minor", summary: "Less", value: "1", tier: "minor" };
  const reach = { affected_users: "1", risk: "low", reversible: "true" };
  const proposed = await api.post("propose", { ...small, ...reach }, { authorization: `Bearer ${SECRET}` });
  if (proposed.body.tier !== "minor") throw new Error(proposed.text);
  const minor = proposed.body;
  await api.must("apply", minor.change_id);
  const urgent = { change_id: (await api.propose({ target: "ui.urgent" })).change_id, approver: "dora", note: "down" };
  const emergencyStatement = await requestStatement(api, { decision: "approve_emergency", ...urgent });
  await api.post("approve", { ...urgent, emergency: true, ...proofFields(pens["dora"]!, emergencyStatement) });
  await api.must("apply", urgent.change_id);
  const gone = await api.propose({ target: "ui.gone" });
  await decide(api, pens["bo"]!, "deny", { change_id: gone.change_id, approver: "bo" });
  const erasure = { change_id: gone.change_id, note: "asked for" };
  const erasureStatement = await requestStatement(api, { decision: "erase", approver: "ana", ...erasure });
  await api.post("erase", { actor: "ana", ...erasure, ...proofFields(pens["ana"]!, erasureStatement) });
  await postSignedAction(api, pens["cy"]!, "freeze", { actor: "cy", note: "" });
  await postSignedAction(api, pens["bo"]!, "unfreeze", { actor: "bo" });
  const noted = (await api.propose({ target: "ui.noted" })).change_id;
  await decide(api, pens["bo"]!, "deny", { change_id: noted, approver: "bo" });
  await decide(api, pens["ana"]!, "note", { change_id: noted, approver: "ana", item: "note", note: "Too soon." });
  const lines = (await api.get("export")).text.trimEnd().split("\n");
  const carried: Carried[] = [];
  const entryLines: string[] = [];
  // Lines of entries begin with `origin`; all other lines are contents and intents.
  for (const line of lines)
    if (line.startsWith('{"origin"')) entryLines.push(line);
    else carried.push({ after: entryLines.length, line });
  const contents: FuzzWorld["contents"] = new Map();
  const manifests = new Map<string, string>();
  for (const { line } of carried) {
    const [, id, what, content] = /^\{"change_id":"([^"]+)","(content|erased)":(.*)\}$/.exec(line) ?? [];
    if (id !== undefined) contents.set(id, { content: content!, erased: what === "erased" });
    const [, hash, manifest] = /^\{"manifest_hash":"([^"]+)","manifest":(.*)\}$/.exec(line) ?? [];
    if (hash !== undefined) manifests.set(hash, manifest!);
  }
  const entries = parse(entryLines.join("\n"));
  // 4: the type of a witness's key.
  const witness = keyPair("w.example/one", 4);
  const { origin } = entries[0]!;
  // 1: Ed25519, the type of a log's key in a tlog-policy.
  const typed = Buffer.concat([Buffer.of(1), key.raw]);
  const id = createHash("sha256").update(`${origin}\n`).update(typed).digest("hex").slice(0, 8);
  const trusted = `# trusted\nlog ${origin}+${id}+${typed.toString("base64")}\nwitness w ${witness.vkey}\nquorum w\n`;
  return { entries, carried, pens, raw, key, witness, contents, manifests, policy: trusted };
}

/** Returns an export of entries with the line that follows each of them. */
export function writeExport(entries: readonly AuditEntry[], carried: readonly Carried[]): string {
  const lines = entries.map((entry) => write([entry]));
  return lines
    .map((line, index) => line + carried.flatMap((one) => (one.after === index + 1 ? [`${one.line}\n`] : [])).join(""))
    .join("");
}

/** Returns a certificate of some entries of a log, with a checkpoint signed by the log's key and cosigned by a witness. */
export function writeCertificate(
  world: Pick<FuzzWorld, "key"> & { witness: Pick<FuzzWorld["witness"], "cosigned"> },
  log: readonly AuditEntry[],
  {
    name,
    content,
    intents,
    ids,
  }: { name: string; content: string; intents: readonly string[]; ids: readonly number[] },
): string {
  const note = makeCheckpoint(log, log.length, world.key);
  const text = note.slice(0, note.indexOf("\n\n") + 1);
  const cosigned = note + world.witness.cosigned(text, 1_800_000_000);
  const leaves = log.map(({ current_hash }) => data(current_hash));
  // Caches the hashes of all subtrees, which the paths below need.
  MTH(leaves);
  const part = (kind: string, body: string) => `${kind} ${Buffer.byteLength(body)}\n${body}`;
  const proofs = ids.map((id) => {
    const extra = Buffer.from(write([log[id - 1]!]).slice(0, -1)).toString("base64");
    const path = PATH(id - 1, leaves).map((hash) => `${hash.toString("base64")}\n`);
    return part("proof", `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex ${id - 1}\n${path.join("")}\n${cosigned}`);
  });
  const parts = [part(name, `${content}\n`), ...intents.map((intent) => part("intent", `${intent}\n`)), ...proofs];
  return `countersign-certificate/v1\n${parts.join("")}`;
}
