/** Data stored outside the service, to verify an export against. */
import { existsSync, readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import type { Finding } from "./chain.ts";
import { parseObject, asText } from "./json.ts";
import { type Checkpoint, type Key, parseCheckpoint, parseKey, findSigner } from "./note.ts";

/** A length the log had, and what it was then: the last entry's hash, or the tree's root. */
export interface Kept {
  length: number;
  head?: string;
  root?: string;
  /** The log's origin, where it is known. */
  origin?: string;
  /** Its description, for people. */
  what: string;
}

/** All that was kept, what is wrong with it, and what was passed over. */
export interface Evidence {
  kept: Kept[];
  /** The checkpoints among it. */
  checkpoints: { checkpoint: Checkpoint; what: string }[];
  findings: Finding[];
  remarks: string[];
}

/** Something that had to be read and cannot be. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Reads a public key from a file, or takes the text itself for a verifier key. */
export function readKey(fileOrKey: string): Key {
  const key = parseKey(existsSync(fileOrKey) ? readText(fileOrKey) : fileOrKey);
  if (!key) throw new Unreadable(`${fileOrKey} is neither a verifier key nor an Ed25519 public key in PEM`);
  return key;
}

/** Reads checkpoints from a file: one note, or an anchor's JSON lines. With keys, each must bear the signature of one. */
export function readCheckpoints(file: string, keys: readonly Key[]): Evidence {
  const text = readLines(file);
  const single = parseCheckpoint(text);
  const evidence: Evidence = { kept: [], checkpoints: [], findings: [], remarks: [] };
  if (single) addCheckpoint(evidence, single, file, keys);
  else
    for (const [index, line] of text.split("\n").entries()) {
      const place = `line ${index + 1} of ${file}`;
      const checkpoint = parseCheckpoint(noteIn(line));
      if (checkpoint) addCheckpoint(evidence, checkpoint, place, keys);
      else if (line !== "") evidence.remarks.push(`${place} is not a checkpoint and was passed over`);
    }
  if (evidence.kept.length === 0 && evidence.findings.length === 0) throw new Unreadable(`${file} holds no checkpoint`);
  return evidence;
}

function addCheckpoint(evidence: Evidence, checkpoint: Checkpoint, place: string, keys: readonly Key[]): void {
  const { origin, length, root } = checkpoint;
  const what = `the checkpoint of ${length} entries in ${place}`;
  const signer = keys.map((key) => findSigner(checkpoint, key)).find((name) => name !== undefined);
  if (keys.length > 0 && signer === undefined)
    return void evidence.findings.push({
      line: null,
      entry: null,
      rule: "signature",
      message: `${what} does not bear the signature of ${keys.length > 1 ? "any" : "the"} given key`,
    });
  const trust = signer ? `signed by ${signer}` : "signature not checked, no --key was given";
  evidence.checkpoints.push({ checkpoint, what });
  evidence.kept.push({ length, root, origin, what: `${what} (${trust})` });
}

const noteIn = (line: string): string => asText(parseObject(line)?.["checkpoint"]) ?? "";

/** A file's text. Errors: `Unreadable`. */
export function readText(file: string): string {
  const bytes = readBytes(file);
  if (!isUtf8(bytes)) throw new Unreadable(`${file} is not UTF-8`);
  return bytes.toString();
}

/** The text of a file in which a line may be torn: a line that is not UTF-8 comes out as one of no meaning. */
function readLines(file: string): string {
  const bytes = readBytes(file);
  if (isUtf8(bytes)) return bytes.toString();
  const lines = bytes.toString("latin1").split("\n");
  const decoded = lines.map((line) => Buffer.from(line, "latin1"));
  return decoded.map((line) => (isUtf8(line) ? line.toString() : "\0")).join("\n");
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Unreadable(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
