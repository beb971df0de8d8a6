/**
 * Maintains `state.json` with lowdb: the small records that the service always needs, grouped in blocks. They are read at start,
 * changed by each durable commit, and written a moment later. The file is derived from the journal; its loss loses nothing.
 */
import { crc32 } from "node:zlib";
import { type Adapter, Low } from "lowdb";
import type { Log } from "../../lib/kit/platform.ts";
import type { Layout } from "../../lib/store/layout.ts";
import { type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import type { Version } from "../../lib/store/engine/view.ts";
import { type Files, type Paths, readFile, replaceFile } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";

const STATE_FORMAT = "countersign-state/1";

/** The content of `state.json`; the blocks of the layout are added to these. */
export interface State {
  format: typeof STATE_FORMAT;
  /** The store's random id, as in the journal's first line. */
  store: string;
  /** The number of the last commit in it. */
  sequence: number;
  [block: string]: unknown;
}

const REBUILD = "The journal next to it is the truth: remove this file, and the next start rebuilds it.";
const RENAME = "No journal is next to it: name another file with --state, or restore a backup.";

/** The path of the state file, and of the journal that it is rebuilt from. */
type StatePaths = Pick<Paths, "state" | "journal">;

/** An adapter of lowdb, with the size of its last write. */
interface StateAdapter extends Adapter<State> {
  readonly bytes: number;
}

/** Creates lowdb's adapter for a file that is replaced atomically. Errors: `StoreDamaged` when it was changed after it was written. */
export function stateAdapter(files: Files, paths: StatePaths): StateAdapter {
  const { state: path, journal } = paths;
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    async read() {
      const text = (await readFile(files, path))?.toString("utf8");
      return text === undefined || text.trim() === ""
        ? null
        : parseState(path, text, files.stat(journal) === undefined ? RENAME : REBUILD);
    },
    async write(state) {
      const content = Buffer.from(`${JSON.stringify({ ...state, checksum: computeChecksum(state) }, null, 2)}\n`);
      bytes = content.length;
      await replaceFile(files, path, [content]);
    },
  };
}

/** Computes a checksum that ignores white space, so that a reformatted file is still valid. */
const computeChecksum = (state: State): string => crc32(JSON.stringify(state)).toString(16).padStart(8, "0");

/** Parses the text of a state file. Errors: `StoreDamaged`, whose message ends with `remedy`. */
function parseState(path: string, text: string, remedy: string): State {
  let value: (State & { checksum?: unknown }) | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch (error) {
    throw new StoreDamaged(path, 0, `this is not JSON (${(error as Error).message})`, remedy);
  }
  if (value?.format !== STATE_FORMAT || typeof value.store !== "string" || !Number.isSafeInteger(value.sequence))
    throw new StoreDamaged(path, 0, `this is not a state file of the format ${STATE_FORMAT}`, remedy);
  const { checksum, ...state } = value;
  if (checksum !== computeChecksum(state))
    throw new StoreDamaged(path, 0, "it was changed after it was written", remedy);
  return state;
}

/** Runs a function later; returns a function that cancels it. */
export type Schedule = (run: () => void, milliseconds: number) => () => void;

/** The records of the blocks, in memory. */
export interface HotRecords {
  /** Returns the records of a collection; undefined where no block has it. */
  get(collection: string): SortedMap<Version> | undefined;
  /** Adds a version that has become durable, if a block has its collection. */
  add(version: Version): void;
}

/** The state file of an open store. */
export interface StateFile extends HotRecords {
  /** Records a durable commit; the file is written within a second, later when it is large. */
  changed(sequence: number): void;
  /** Writes now; a failure is logged. */
  write(): Promise<void>;
  /** Cancels scheduled writes; resolves when none is under way. */
  stop(): Promise<void>;
}

/** Parts of a state file. */
export interface StateFileParts {
  low: Low<State>;
  layout: Layout;
  schedule: Schedule;
  log: Log;
  /** Returns the size of the last write. */
  bytes(): number;
}

const MIN_DELAY_MS = 800;
const MAX_DELAY_MS = 60_000;
/** The delay of a write is `MIN_DELAY_MS` for each of these bytes that the file has. */
const SMALL_BYTES = 256 * 1024;

type Records = Record<string, unknown>;

/** Opens a state file with empty blocks. */
export function openStateFile(
  { low, layout, schedule, log, bytes }: StateFileParts,
  store: string,
  sequence: number,
): StateFile {
  const hot = new Map<string, { versions: SortedMap<Version>; fileRecords: Records }>();
  // Records may have any id, also `__proto__`, so these objects have no prototype.
  const empty = (): Records => Object.create(null) as Records;
  low.data = { format: STATE_FORMAT, store, sequence };
  for (const [block, collections] of Object.entries(layout.blocks)) {
    const blockRecords = collections.map((name) => [name, empty()] as const);
    for (const [name, records] of blockRecords) hot.set(name, { versions: sortedMap(), fileRecords: records });
    low.data[block] = Object.fromEntries(blockRecords);
  }
  let cancel: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Copies the fields of an embedded record into its block, before the block's collections. */
  const embed = ({ collection, id, json }: Version): void => {
    for (const [block, [embeddedCollection, embeddedId]] of Object.entries(layout.embedded))
      if (embeddedCollection === collection && embeddedId === id) {
        const blockRecords = layout.blocks[block]!.map((name) => [name, hot.get(name)!.fileRecords] as const);
        low.data[block] = { ...(json?.value as Records | undefined), ...Object.fromEntries(blockRecords) };
      }
  };

  const writeOnce = async (): Promise<void> => {
    try {
      await low.write();
    } catch (error) {
      log.warn("the state file could not be written; the journal holds everything", { error });
    }
  };
  const write = (): Promise<void> => (writing = writing.then(writeOnce));

  return {
    get: (collection) => hot.get(collection)?.versions,
    add(version) {
      const { collection, id, json } = version;
      const hotRecords = hot.get(collection);
      if (!hotRecords) return;
      if (json) {
        hotRecords.versions.set(id, version);
        hotRecords.fileRecords[id] = json.value;
      } else {
        hotRecords.versions.delete(id);
        delete hotRecords.fileRecords[id];
      }
      embed(version);
    },
    changed(lastSequence) {
      low.data.sequence = lastSequence;
      if (cancel) return;
      const delay = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * Math.max(1, Math.ceil(bytes() / SMALL_BYTES)));
      cancel = schedule(() => {
        cancel = undefined;
        void write();
      }, delay);
    },
    write,
    async stop() {
      cancel?.();
      await writing;
    },
  };
}
