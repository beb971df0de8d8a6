/**
 * Computes a possible content of a disk after a power cut from the recorded file operations of a program. Synced data is there. Of
 * unsynced data, any 512-byte sectors may be missing, and a file may have any size in between. Of the names that were created,
 * moved or removed since the last sync of a folder, only the first few may have survived.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, relative, join } from "node:path";

const SECTOR = 512;

/**
 * Parses what disk_recorder.mjs recorded of a program: lines of JSON, each followed by the `bytes` bytes of a write. `at` is the
 * offset of a record, which also identifies a cut.
 */
export function readRecords(bytes) {
  const records = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const entry = JSON.parse(bytes.toString("utf8", at, end));
    const next = end + 1 + entry.bytes;
    records.push({ ...entry, at, data: entry.bytes > 0 ? bytes.subarray(end + 1, next) : undefined });
    at = next;
  }
  return records;
}

/** Creates a file: its durable content and the operations since. */
const newFile = () => ({ durable: Buffer.alloc(0), pending: [] });

/** Applies records up to a cut. */
export class RecordedDisk {
  /** Files by their current name. */
  #names = new Map();
  /** Files by their durable name, which a cut keeps. */
  #durableNames = new Map();
  /** Changes of names since the last sync of a folder, oldest first. */
  #moves = [];
  /** Running operations by id. */
  #underWay = new Map();

  /** Applies the next record. */
  apply(record) {
    const { op, path } = record;
    if (op === "done") return this.#finish(this.#underWay.get(record.id), record.id);
    if (record.id !== undefined) this.#underWay.set(record.id, record);
    const file = this.#names.get(path);
    if (op === "create") {
      if (!file) this.#move({ path, file: newFile() });
      else if (record.empties) file.pending.push({ op: "truncate", size: 0, isDone: true });
    } else if (op === "write") file?.pending.push(record);
    else if (op === "truncate") file?.pending.push({ op, size: record.size, isDone: true });
    // A sync covers operations that ended before it began. A path that is no file is a folder, whose sync covers all names.
    else if (op === "sync") record.covers = file ? file.pending.filter(({ isDone }) => isDone) : [...this.#moves];
    else if (op === "rename") this.#move({ path, to: record.to, file });
    else if (op === "remove" && file) this.#move({ path, file: undefined });
  }

  #finish(record, id) {
    this.#underWay.delete(id);
    if (record === undefined) return;
    record.isDone = true;
    if (record.op !== "sync") return;
    const file = this.#names.get(record.path);
    const covered = new Set(record.covers);
    if (file) {
      for (const write of file.pending) if (covered.has(write)) file.durable = applyOperation(file.durable, write);
      file.pending = file.pending.filter((write) => !covered.has(write));
    } else {
      for (const move of this.#moves) if (covered.has(move)) applyMove(this.#durableNames, move);
      this.#moves = this.#moves.filter((move) => !covered.has(move));
    }
  }

  #move(move) {
    applyMove(this.#names, move);
    this.#moves.push(move);
  }

  /** Returns a possible content of each file after a cut now; `random` decides what is lost. */
  cut(random) {
    const names = new Map(this.#durableNames);
    const survivedCount = Math.floor(random() * (this.#moves.length + 1));
    for (const move of this.#moves.slice(0, survivedCount)) applyMove(names, move);
    return new Map([...names].map(([path, file]) => [path, contentAfterCut(file, random)]));
  }
}

function applyMove(names, { path, to, file }) {
  names.delete(path);
  if (file !== undefined) names.set(to ?? path, file);
}

function applyOperation(content, { op, size, position, data }) {
  if (op === "truncate") {
    const cut = Buffer.alloc(size);
    content.copy(cut, 0, 0, Math.min(size, content.length));
    return cut;
  }
  const end = position + data.length;
  const next =
    end > content.length ? Buffer.concat([content, Buffer.alloc(end - content.length)]) : Buffer.from(content);
  data.copy(next, position);
  return next;
}

/** Returns a possible content of a file after a cut: each sector of a pending write, and later sizes, may be lost. */
function contentAfterCut({ durable, pending }, random) {
  // Share of the sectors that are lost.
  const share = random();
  const applied = pending.slice(0, Math.floor(random() * (pending.length + 1)));
  let content = durable;
  for (const operation of applied) {
    const { op, position, data } = operation;
    if (op === "truncate") {
      content = applyOperation(content, operation);
      continue;
    }
    for (let from = 0; from < data.length;) {
      const start = position + from;
      const to = Math.min(data.length, from + SECTOR - (start % SECTOR));
      if (random() >= share) content = applyOperation(content, { position: start, data: data.subarray(from, to) });
      from = to;
    }
  }
  return content;
}

/** Writes files with paths below `from` to the same paths below `to`. */
export async function writeFiles(files, from, to) {
  for (const [path, content] of files) {
    const target = join(to, relative(from, path));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content, { mode: 0o600 });
  }
}
