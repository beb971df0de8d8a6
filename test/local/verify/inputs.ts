/**
 * Creates the inputs of the fuzz test: files, and the arguments of both verifiers. `below(n)` draws a number from 0 to n − 1, and the
 * functions `bent…` change something at random. `carried` are the content lines between the entries of an export; `pens` sign for
 * people by name, and `raw` is the passkey of eve, which signs any bytes.
 */
import { createHash } from "node:crypto";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { makeCheckpoint, rehashed } from "../../tamper/world.ts";
import { type Carried, writeCertificate, writeExport, type FuzzWorld } from "./fuzz_world.ts";
import { bentBytes, bentDer, bentJson, bentText, type Below, ODD_JSON, pick } from "./mutations.ts";

/** Files by name, and arguments in which the name of a file is replaced by its path. */
export interface Input {
  files: Record<string, Buffer | string>;
  args: string[];
}

type Detail = Record<string, unknown>;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const read = ({ detail }: AuditEntry): Detail => JSON.parse(detail) as Detail;

/** Returns the fields of an entry's statement in the form that a signer uses. */
function statementFor(entry: AuditEntry, detail: Detail): string {
  const before = JSON.parse(String(read(entry)["statement"])) as Detail;
  const fields = ["note", "manifest_hash", "digest", "verdict", "until", "approver", "actor"];
  for (const field of fields) if (field in before && detail[field] !== undefined) before[field] = detail[field];
  return JSON.stringify(before, Object.keys(before).sort());
}

/** Returns the detail of a signed entry with its statement signed again, by its own key or another. */
function signedAgain(world: FuzzWorld, entry: AuditEntry, detail: Detail, below: Below): Detail {
  const statement = statementFor(entry, detail);
  const by = String(detail["approver"] ?? detail["actor"]);
  const pen = below(8) === 0 ? pick(below, Object.values(world.pens)) : world.pens[by];
  if (!pen) return detail;
  if (by === "eve" && below(2) === 0) return { ...detail, statement, proof: oddAssertion(world, statement, below) };
  return { ...detail, statement, proof: pen.sign(statement) };
}

/** Returns a validly signed assertion of client data that parsers may read differently. */
function oddAssertion(world: FuzzWorld, statement: string, below: Below): object {
  const challenge = createHash("sha256").update(statement).digest("base64url");
  const origin = `https://${world.raw.key.rp_id}`;
  const said = { type: "webauthn.get", challenge, origin, crossOrigin: false, x: "y" };
  const plain = JSON.stringify(said);
  const texts = [plain, bentJson(said, below), plain.replace('"y"', pick(below, ODD_JSON))];
  const client = Buffer.from(pick(below, texts));
  const odd = pick(below, [client, bentBytes(client, below), Buffer.concat([Buffer.from("\ufeff"), client])]);
  // 1: the user is present; 4: and verified; 8: the key may be backed up; 16: and is. Of these flags 5 and 29 are valid.
  return world.raw.signBytes(odd, pick(below, [5, 5, 5, 1, 21, 29]));
}

/** Returns a proof in another notation. */
function oddProof(proof: Detail, below: Below): Detail {
  const { signature } = proof;
  if (typeof signature !== "string") return proof;
  if (proof["type"] === "ssh") return { ...proof, signature: bentText(signature, below) };
  const bytes = Buffer.from(signature, "base64url");
  const der = bytes[0] === 0x30 ? bentDer(bytes, below) : bentBytes(bytes, below);
  return { ...proof, signature: der.toString("base64url") };
}

/** Returns the text of a detail with a random change: as JSON or as text, without its signature, with another, or signed again. */
function bentDetail(world: FuzzWorld, entry: AuditEntry, below: Below): string {
  const detail = read(entry);
  const { proof, statement: _, key: _key, ...unsigned } = detail;
  switch (below(7)) {
    case 0:
      return bentJson(unsigned, below);
    case 1:
      return bentText(entry.detail, below);
    case 2:
      if (proof) return JSON.stringify({ ...detail, proof: oddProof(proof as Detail, below) });
      return bentJson(detail, below);
    case 3:
    case 4: {
      if (!proof) return bentJson(detail, below);
      const edited = JSON.parse(below(2) === 0 ? validJson(bentJson({ note: detail["note"] }, below)) : "{}") as Detail;
      return JSON.stringify(signedAgain(world, entry, { ...detail, ...edited }, below));
    }
    default:
      return bentJson(detail, below);
  }
}

/** Returns the text if it is valid JSON, otherwise `{}`. */
function validJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return "{}";
  }
}

/** Returns the log with one or two entries changed, only those of the ids `wanted` if passed, and all hashes computed again. */
function bentLog(
  world: FuzzWorld,
  below: Below,
  wanted?: readonly number[],
): { entries: AuditEntry[]; carried: Carried[] } {
  let entries = [...world.entries];
  let { carried } = world;
  for (let count = 1 + below(2); count > 0; count--) {
    const index = wanted ? pick(below, wanted) - 1 : below(entries.length);
    const entry = entries[index]!;
    // 8: the first entry, which names the intent, again; 9: other content lines; 7: an entry less; otherwise another detail.
    const how = wanted ? 0 : below(10);
    if (how === 8) {
      const again = {
        ...entries[0]!,
        detail: below(2) === 0 ? bentJson(read(world.entries[0]!), below) : entries[0]!.detail,
      };
      entries = entries.toSpliced(index + 1, 0, again);
      carried = carried.map((one) => (one.after > index + 1 ? { ...one, after: one.after + 1 } : one));
    } else if (how === 9) {
      carried = carried.map((one) => (below(3) === 0 ? { ...one, line: bentText(one.line, below) } : one));
    } else if (how === 7 && entries.length > 2) {
      entries = entries.toSpliced(index, 1);
      carried = carried.map((one) => (one.after > index ? { ...one, after: one.after - 1 } : one));
    } else {
      try {
        entries = entries.with(index, { ...entry, detail: bentDetail(world, entry, below) });
      } catch {
        // An earlier change left nothing that can be parsed.
      }
    }
  }
  return { entries: rehashed(entries, 0), carried };
}

function exportInput(world: FuzzWorld, below: Below): Input {
  const { entries, carried } = below(4) === 0 ? world : bentLog(world, below);
  const withContents = below(2) === 0;
  // An export sometimes has contents that the arguments do not announce.
  const text = writeExport(entries, withContents || below(20) === 0 ? carried : []);
  const files: Input["files"] = { "audit.jsonl": below(4) === 0 ? bentBytes(Buffer.from(text), below) : text };
  const args = ["audit.jsonl", ...(withContents ? ["--changes"] : [])];
  // 0 and 1: a checkpoint; 2: an expected length and head; 3: nothing to verify the log against.
  const evidence = below(4);
  if (evidence < 2) {
    const note = makeCheckpoint(entries, 1 + below(entries.length), world.key);
    const cosigned = note + world.witness.cosigned(note.slice(0, note.indexOf("\n\n") + 1), 1_800_000_000);
    files["note"] = below(3) === 0 ? bentText(cosigned, below) : cosigned;
    // The file of an anchor: each line is JSON with a checkpoint.
    if (below(8) === 0)
      files["note"] = `${JSON.stringify({ at: "", checkpoint: cosigned })}\n${bentText(cosigned, below)}`;
    args.push("--checkpoint", "note");
    if (below(2) === 0) args.push("--key", below(6) === 0 ? "bent.pem" : "public.pem");
    if (below(3) === 0)
      args.push("--witness", below(6) === 0 ? bentText(world.witness.vkey, below) : world.witness.vkey);
  } else if (evidence === 2) {
    const { id, current_hash } = pick(below, entries);
    args.push("--expected-length", String(id), "--expected-head", current_hash);
  }
  addPeople(world, below, files, args, "--policy");
  // No program can be started with an argument that contains a NUL.
  return { files, args: args.map((arg) => (arg.includes("\0") ? "x" : arg)) };
}

/** Adds an option with a file of people's keys in two of three calls; the file sometimes has other keys than the log. */
function addPeople(world: FuzzWorld, below: Below, files: Input["files"], args: string[], option: string): void {
  const how = below(6);
  if (how < 2) return;
  args.push(option, how === 2 ? "people" : "people.json");
  if (how !== 2) return;
  const manifest = [...world.manifests.values()][0]!;
  files["people"] = below(2) === 0 ? bentJson(JSON.parse(manifest), below) : bentText(manifest, below);
}

function certificateInput(world: FuzzWorld, below: Below): Input {
  const [change, { content, erased }] = pick(below, [...world.contents]);
  const ids = world.entries.filter((entry) => entry.change_id === change && isDeciding(entry)).map(({ id }) => id);
  const manifest = [...world.manifests.values()][0]!;
  let [log, body, intent, includedIds] = [world.entries, content, manifest, ids];
  // 0: fewer entries; 1: another order; 2: another content; 3: another intent; 4: no change; 5: changed entries and another content;
  // 6: changed entries and another intent; 7: changed entries.
  const how = below(8);
  if (how === 0) includedIds = ids.filter(() => below(3) > 0);
  if (how === 1) includedIds = ids.toSorted(() => below(3) - 1);
  if (how > 4) ({ entries: log } = bentLog(world, below, ids));
  if (how === 2 || how === 5) body = bentJson(JSON.parse(content), below);
  if (how === 3 || how === 6) intent = bentJson(JSON.parse(manifest), below);
  if (body !== content || intent !== manifest) log = linked(world, log, { change, body, erased, intent }, below);
  if (includedIds.length === 0) includedIds = ids;
  const intents = below(10) === 0 ? [] : [intent];
  const text = writeCertificate(world, log, {
    name: erased ? "erased" : "content",
    content: body,
    intents,
    ids: includedIds,
  });
  const files: Input["files"] = { certificate: below(4) === 0 ? bentBytes(Buffer.from(text), below) : text };
  const args = ["certificate", "certificate"];
  if (below(5) > 0) args.push("--policy", "tlog");
  files["tlog"] = below(4) === 0 ? bentText(world.policy, below) : world.policy;
  if (below(2) === 0) addPeople(world, below, files, args, "--keys");
  if (below(8) === 0) args.push("--manifest-hash", sha256(intent));
  return { files, args };
}

const isDeciding = ({ event_type }: AuditEntry): boolean =>
  /^(?:change_(?:proposed|applied|rolled_back)|consent_decision|emergency_reviewed|content_erased)$/.test(event_type);

/** Returns the log with a change's entries about another content and intent, in three of four calls with new signatures. */
function linked(
  world: FuzzWorld,
  log: readonly AuditEntry[],
  { change, body, erased, intent }: { change: string; body: string; erased: boolean; intent: string },
  below: Below,
): AuditEntry[] {
  const isResigned = below(4) > 0;
  const entries = log.map((entry) => {
    if (entry.change_id !== change) return entry;
    try {
      const detail: Detail = { ...read(entry), manifest_hash: sha256(intent) };
      if (!erased) detail["digest"] = sha256(body);
      else if (entry.event_type === "content_erased") detail["remaining_digest"] = sha256(body);
      const isSigned = detail["proof"] !== undefined && isResigned;
      return { ...entry, detail: JSON.stringify(isSigned ? signedAgain(world, entry, detail, below) : detail) };
    } catch {
      return entry;
    }
  });
  return rehashed(entries, 0);
}

/** Returns a random input. */
export const makeInput = (world: FuzzWorld, below: Below): Input =>
  below(2) === 0 ? exportInput(world, below) : certificateInput(world, below);
