/** `state.json`: a readable picture of the store, kept with lowdb. The journal is the truth; losing this loses nothing. */
import { type Adapter, Low } from "lowdb";
import type { Log } from "../../lib/kit/platform.ts";
import type { Layout } from "../../lib/store/collections.ts";
import { type Files, readFile, replaceFile } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import type { Hot } from "./records.ts";

export const STATE_FORMAT = "countersign-state/1";

/** The content of `state.json`; beside these stand the blocks of the layout. */
export interface Snapshot {
  format: typeof STATE_FORMAT;
  /** The store's random id, as in the journal's first line. */
  store: string;
  /** The number of the last commit it shows. */
  sequence: number;
  [block: string]: unknown;
}

const REMEDY = "The journal beside it is the truth: remove this file, and the next start makes it anew.";

/** An adapter that knows how much it last wrote. */
export interface SnapshotAdapter extends Adapter<Snapshot> {
  readonly bytes: number;
}

/** lowdb's port over a file that is never seen half written. Errors: `StoreDamaged` when it is not a state file. */
export function snapshotAdapter(files: Files, path: string): SnapshotAdapter {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    async read() {
      const text = (await readFile(files, path))?.toString("utf8");
      return text === undefined || text.trim() === "" ? null : parsed(path, text);
    },
    async write(snapshot) {
      const content = Buffer.from(`${JSON.stringify(snapshot, null, 2)}\n`);
      bytes = content.length;
      await replaceFile(files, path, content);
    },
  };
}

function parsed(path: string, text: string): Snapshot {
  let value: Partial<Snapshot> | null;
  try {
    value = JSON.parse(text) as Partial<Snapshot> | null;
  } catch (error) {
    throw new StoreDamaged(path, 0, `this is not JSON (${(error as Error).message})`, REMEDY);
  }
  if (value?.format !== STATE_FORMAT || typeof value.store !== "string" || !Number.isSafeInteger(value.sequence))
    throw new StoreDamaged(path, 0, `this is not a state file of the format ${STATE_FORMAT}`, REMEDY);
  return value as Snapshot;
}

/** Each block as an object: the embedded fields, then its collections as objects by id. */
export function blocksOf(layout: Layout, hot: Hot): Record<string, object> {
  const blocks = Object.entries(layout.blocks).map(([block, collections]) => {
    const shown = collections.map((name) => {
      const page = hot.get(name)!.page({ limit: Infinity });
      return [name, Object.fromEntries(page.map(([id, version]) => [id, version.json!.value]))] as const;
    });
    return [block, { ...embeddedIn(layout, hot, block), ...Object.fromEntries(shown) }] as const;
  });
  return Object.fromEntries(blocks);
}

function embeddedIn({ embedded }: Layout, hot: Hot, block: string): Record<string, unknown> {
  const [collection, id] = embedded[block] ?? [];
  const version = id === undefined ? undefined : hot.get(collection!)?.get(id);
  return version ? (version.json!.value as Record<string, unknown>) : {};
}

/** A state file whose block names another product than the journal was not written with it. Errors: `StoreDamaged`. */
export function checkProduct(layout: Layout, hot: Hot, snapshot: Snapshot, path: string): void {
  for (const block of Object.keys(layout.embedded)) {
    const told = (snapshot[block] as { product_id?: unknown } | undefined)?.product_id;
    const kept = embeddedIn(layout, hot, block).product_id;
    if (told !== undefined && kept !== undefined && told !== kept)
      throw new StoreDamaged(
        path,
        0,
        `its product_id is ${JSON.stringify(told)}, in the journal it is ${JSON.stringify(kept)}`,
        "Put back the file that belongs beside the journal.",
      );
  }
}

/** Runs something later; gives a function that calls it off. */
export type Schedule = (run: () => void, milliseconds: number) => () => void;

/** Writes the snapshot when it is due. */
export interface SnapshotKeeper {
  /** The state has changed: a write follows within a second, later when the snapshot is large. */
  changed(): void;
  /** Writes now; a failure is logged. */
  write(): Promise<void>;
  /** No further write follows by itself; resolves when none is under way. */
  stop(): Promise<void>;
}

const SOONEST_MS = 800;
const LATEST_MS = 60_000;
/** The snapshot is written at most once for each of these bytes and `SOONEST_MS`. */
const SMALL_BYTES = 256 * 1024;

/** Keeps a snapshot up to date; `take` makes its content. */
export function keepSnapshot(
  adapter: SnapshotAdapter,
  take: () => Snapshot,
  schedule: Schedule,
  log: Log,
): SnapshotKeeper {
  const db = new Low(adapter, take());
  let callOff: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();

  const writeOnce = async (): Promise<void> => {
    db.data = take();
    try {
      await db.write();
    } catch (error) {
      log.warn("the snapshot could not be written; the journal holds everything", { error });
    }
  };

  const write = (): Promise<void> => (writing = writing.then(writeOnce));

  return {
    changed() {
      if (callOff) return;
      const delay = Math.min(LATEST_MS, SOONEST_MS * Math.max(1, Math.ceil(adapter.bytes / SMALL_BYTES)));
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
