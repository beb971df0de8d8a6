/** Reads the receipts and checkpoints that an export is verified against; they are stored outside the service. */
import { existsSync, readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import type { Finding } from "./chain.ts";
import { parseObject, stringOrUndefined } from "./json.ts";
import { type Checkpoint, type Key, parseCheckpoint, parseKey, findSigner } from "./note.ts";

/** A length that the log once had, with the hash of its last entry then, or the root of its tree. */
export interface LogState {
  length: number;
  head?: string;
  root?: string;
  /** Origin of the log; undefined: not known. */
  origin?: string;
  /** For messages, such as `the receipt of entry 5`. */
  description: string;
}

/** Everything that was read, and the findings and remarks about it. */
export interface Evidence {
  states: LogState[];
  /** The checkpoints that some of the states were read from. */
  checkpoints: { checkpoint: Checkpoint; description: string }[];
  findings: Finding[];
  remarks: string[];
}

/** A file or option that had to be read and cannot be. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Reads a public key: from a file if one has this name, else the text itself is a verifier key. */
export function readKey(fileOrKey: string): Key {
  const key = parseKey(existsSync(fileOrKey) ? readText(fileOrKey) : fileOrKey);
  if (!key) throw new Unreadable(`${fileOrKey} is neither a verifier key nor an Ed25519 public key in PEM`);
  return key;
}

/** Reads checkpoints from a file: one note, or an anchor's JSON lines. If `keys` has any, one of them must have signed each. */
export function readCheckpoints(file: string, keys: readonly Key[]): Evidence {
  const text = readLines(file);
  const single = parseCheckpoint(text);
  const evidence: Evidence = { states: [], checkpoints: [], findings: [], remarks: [] };
  if (single) addCheckpoint(evidence, single, file, keys);
  else
    for (const [index, line] of text.split("\n").entries()) {
      const location = `line ${index + 1} of ${file}`;
      const checkpoint = parseCheckpoint(readNote(line));
      if (checkpoint) addCheckpoint(evidence, checkpoint, location, keys);
      else if (line !== "") evidence.remarks.push(`${location} is not a checkpoint and was skipped`);
    }
  if (evidence.states.length === 0 && evidence.findings.length === 0)
    throw new Unreadable(`${file} contains no checkpoint`);
  return evidence;
}

function addCheckpoint(evidence: Evidence, checkpoint: Checkpoint, location: string, keys: readonly Key[]): void {
  const { origin, length, root } = checkpoint;
  const description = `the checkpoint of ${length} entries in ${location}`;
  const signer = keys.map((key) => findSigner(checkpoint, key)).find((name) => name !== undefined);
  if (keys.length > 0 && signer === undefined)
    return void evidence.findings.push({
      line: null,
      entry: null,
      rule: "signature",
      message: `${description} is not signed by ${keys.length > 1 ? "any of the given keys" : "the given key"}`,
    });
  const trust = signer ? `signed by ${signer}` : "signature not checked, no --key was given";
  evidence.checkpoints.push({ checkpoint, description });
  evidence.states.push({ length, root, origin, description: `${description} (${trust})` });
}

/** Reads the note in a line of an anchor, `{"checkpoint": NOTE}`; `""` if there is none. */
const readNote = (line: string): string => stringOrUndefined(parseObject(line)?.["checkpoint"]) ?? "";

/** Reads a file as text. Errors: `Unreadable`. */
export function readText(file: string): string {
  const bytes = readBytes(file);
  if (!isUtf8(bytes)) throw new Unreadable(`${file} is not UTF-8`);
  return bytes.toString();
}

/** Reads a file in which a crash may have cut a line: a line that is not UTF-8 becomes `\0`, which is reported as skipped. */
function readLines(file: string): string {
  const bytes = readBytes(file);
  if (isUtf8(bytes)) return bytes.toString();
  // Latin-1 maps each byte to one character and back, so that lines can be split before they are decoded.
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
