/** Verifies C2SP `tlog-proof@v1`: an entry is in the tree of a checkpoint. */
import { isUtf8 } from "node:buffer";
import { type Entry, hasHashes, parseLine } from "./line.ts";
import { type Checkpoint, parseCheckpoint } from "./note.ts";
import { computeRootFromPath } from "./tree.ts";

/** An entry, and the checkpoint whose tree is proven to contain it. */
export interface ProvenEntry {
  entry: Entry;
  checkpoint: Checkpoint;
  /** The exact text of the checkpoint. */
  note: string;
}

const FORM =
  /^c2sp\.org\/tlog-proof@v1\nextra ([A-Za-z0-9+/]+={0,2})\nindex (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n([^]+)$/;

/** Verifies a proof with its entry in `extra`; returns both, or a string that explains why the proof is invalid. */
export function parseProof(text: string): ProvenEntry | string {
  const [, extra, index, hashes, note] = FORM.exec(text) ?? [];
  if (note === undefined) return "it is not a tlog-proof with an entry";
  const checkpoint = parseCheckpoint(note);
  if (!checkpoint) return "it has no checkpoint";
  const line = Buffer.from(extra!, "base64");
  // `parseLine` expects one character for each byte.
  const entry = isUtf8(line) && line.toString("base64") === extra ? parseLine(line.toString("latin1")) : undefined;
  if (!entry || !hasHashes(entry)) return "it has no entry in the exact form that the service writes";
  if (entry.currentHash !== entry.computedHash) return `current_hash does not cover the fields of entry ${entry.id}`;
  if (Number(index) !== entry.id - 1) return `its index is not that of entry ${entry.id}`;
  const path = hashes!.split("\n").slice(0, -1);
  if (path.some((hash) => Buffer.from(hash, "base64").toString("base64") !== hash)) return "its hashes are not base64";
  if (computeRootFromPath(entry.currentHash, Number(index), checkpoint.length, path) !== checkpoint.root)
    return `entry ${entry.id} is not in the tree of its checkpoint`;
  return { entry, checkpoint, note };
}
