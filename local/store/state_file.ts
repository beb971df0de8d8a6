/**
 * `state.json`, kept with lowdb: its data are the small records that the service needs all the time, by block. They are read
 * at open, changed by each commit that is durable, and written a moment later. The journal is the truth; losing this loses
 * nothing.
 */
import { crc32 } from "node:zlib";
import { type Adapter, Low } from "lowdb";
import type { Log } from "../../lib/kit/platform.ts";
import type { Layout } from "../../lib/store/layout.ts";
import { type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import type { Version } from "../../lib/store/engine/view.ts";
import { type Files, readFile, replaceFile } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";

const STATE_FORMAT = "countersign-state/1";

/** The content of `state.json`; the blocks of the layout are added to these. */
export interface State {
  format: typeof STATE_FORMAT;
  /** The store's random id, as in the journal's first line. */
  store: string;
  /** The number of the last commit it shows. */
  sequence: number;
  [block: string]: unknown;
}

const REMEDY = "The journal next to it is the truth: remove this file, and the next start rebuilds it.";

/** An adapter that knows how much it last wrote. */
interface StateAdapter extends Adapter<State> {
  readonly bytes: number;
}

/** lowdb's port over a file that is never seen half written. Errors: `StoreDamaged` when it is not as it was written. */
export function stateAdapter(files: Files, path: string): StateAdapter {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    async read() {
      const text = (await readFile(files, path))?.toString("utf8");
      return text === undefined || text.trim() === "" ? null : parsed(path, text);
    },
    async write(state) {
      const content = Buffer.from(`${JSON.stringify({ ...state, checksum: checksumOf(state) }, null, 2)}\n`);
      bytes = content.length;
      await replaceFile(files, path, [content]);
    },
  };
}

/** Spaces and line breaks do not count: a file that was only reformatted is the same. */
const checksumOf = (state: State): string => crc32(JSON.stringify(state)).toString(16).padStart(8, "0");

function parsed(path: string, text: string): State {
  let value: (State & { checksum?: unknown }) | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch (error) {
    throw new StoreDamaged(path, 0, `this is not JSON (${(error as Error).message})`, REMEDY);
  }
  if (value?.format !== STATE_FORMAT || typeof value.store !== "string" || !Number.isSafeInteger(value.sequence))
    throw new StoreDamaged(path, 0, `this is not a state file of the format ${STATE_FORMAT}`, REMEDY);
  const { checksum, ...state } = value;
  if (checksum !== checksumOf(state)) throw new StoreDamaged(path, 0, "it was changed after it was written", REMEDY);
  return state;
}

/** Runs something later; gives a function that calls it off. */
export type Schedule = (run: () => void, milliseconds: number) => () => void;

/** The records of the blocks. */
export interface Hot {
  /** The records of a collection that a block holds. */
  get(collection: string): SortedMap<Version> | undefined;
  /** Enters a version that has become durable, if a block holds its collection. */
  enter(version: Version): void;
}

/** The state file of an open store. */
export interface StateFile extends Hot {
  /** The commit of this number is durable: a write follows within a second, later when the file is large. */
  changed(sequence: number): void;
  /** Writes now; a failure is logged. */
  write(): Promise<void>;
  /** No further write follows by itself; resolves when none is under way. */
  stop(): Promise<void>;
}

/** Parts of a state file. */
export interface StateFileParts {
  low: Low<State>;
  layout: Layout;
  schedule: Schedule;
  log: Log;
  /** How large it was when it was last written. */
  bytes(): number;
}

const SOONEST_MS = 800;
const LATEST_MS = 60_000;
/** The file is written at most once for each of these bytes and `SOONEST_MS`. */
const SMALL_BYTES = 256 * 1024;

type Records = Record<string, unknown>;

/** Keeps the blocks of a state file, at first empty. */
export function keepState(
  { low, layout, schedule, log, bytes }: StateFileParts,
  store: string,
  sequence: number,
): StateFile {
  const hot = new Map<string, { versions: SortedMap<Version>; shown: Records }>();
  // As records have any id, also `__proto__`, what holds them has no prototype.
  const empty = (): Records => Object.create(null) as Records;
  low.data = { format: STATE_FORMAT, store, sequence };
  for (const [block, collections] of Object.entries(layout.blocks)) {
    const shown = collections.map((name) => [name, empty()] as const);
    for (const [name, records] of shown) hot.set(name, { versions: sortedMap(), shown: records });
    low.data[block] = Object.fromEntries(shown);
  }
  let callOff: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** The records whose fields a block shows as its own stand before its collections. */
  const embed = ({ collection, id, json }: Version): void => {
    for (const [block, [from, which]] of Object.entries(layout.embedded))
      if (from === collection && which === id) {
        const shown = layout.blocks[block]!.map((name) => [name, hot.get(name)!.shown] as const);
        low.data[block] = { ...(json?.value as Records | undefined), ...Object.fromEntries(shown) };
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
    enter(version) {
      const { collection, id, json } = version;
      const held = hot.get(collection);
      if (!held) return;
      if (json) {
        held.versions.set(id, version);
        held.shown[id] = json.value;
      } else {
        held.versions.delete(id);
        delete held.shown[id];
      }
      embed(version);
    },
    changed(reached) {
      low.data.sequence = reached;
      if (callOff) return;
      const delay = Math.min(LATEST_MS, SOONEST_MS * Math.max(1, Math.ceil(bytes() / SMALL_BYTES)));
      callOff = schedule(() => {
        callOff = undefined;
        void write();
      }, delay);
    },
    write,
    async stop() {
      callOff?.();
      await writing;
    },
  };
}
