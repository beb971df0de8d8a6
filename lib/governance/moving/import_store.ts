/** Loads the lines of a file into an empty store. */
import { readHead, type ChainHead } from "../../audit/chain.ts";
import { LogDoesNotHold, passingLog } from "../../audit/passing_log.ts";
import { type ExportHead, readExport } from "../../store/move/export_format.ts";
import { MoveRefused } from "../../store/move/refused_move.ts";
import type { Version } from "../../store/version.ts";
import type { Loading } from "../../store/whole.ts";
import {
  arrive,
  type Destination,
  loading,
  moment,
  type MoveDeps,
  type Moved,
  ofThisMachine,
  requireClock,
  wholeOf,
} from "./arrive.ts";

/** A file: its name for people, and its lines, without line ends, from the beginning each time. */
export interface ExportFile {
  name: string;
  lines(): AsyncIterable<string>;
}

const VERB = { export: "import", backup: "restore" } as const;

/** A file that was read to its end and found whole. */
export interface CheckedFile {
  file: ExportFile;
  how: "import" | "restore";
  head: ExportHead;
  log: ChainHead | undefined;
}

/** Reads a file that is to be loaded; `import` takes an export, `restore` a backup. Errors: `MoveRefused`; those of reading it. */
export async function checkFile(
  file: ExportFile,
  how: "import" | "restore",
  deps: MoveDeps = ofThisMachine(),
): Promise<CheckedFile> {
  const { head, log } = await read(file, deps);
  if (VERB[head.kind] !== how)
    throw new MoveRefused(
      head.kind === "backup"
        ? `${file.name} is a backup: the store that it is of may go on, and two logs of one origin are none. Where that store is lost: countersign restore`
        : `${file.name} is an export, which moves a store: countersign import`,
    );
  requireClock(log, deps);
  return { file, how, head, log };
}

/**
 * Loads a file, which is read to its end and found whole before anything is touched. `import` takes an export, `restore` a
 * backup. An export goes also back into the store that it was made of: its fence is taken away. Errors: `MoveRefused`; those of
 * the store.
 */
export async function importStore(
  file: ExportFile,
  how: "import" | "restore",
  destination: Destination,
  deps: MoveDeps = ofThisMachine(),
): Promise<Moved> {
  return loadFile(await checkFile(file, how, deps), destination, deps);
}

/** Loads a file that was checked. Errors: as `importStore`. */
export async function loadFile(
  { file, how, head, log }: CheckedFile,
  destination: Destination,
  deps: MoveDeps = ofThisMachine(),
): Promise<Moved> {
  const journey = { how, from: head.from, made_at: head.made_at };
  const back = await wholeOf(destination).mark();
  // Only an export has the name of the move that fenced a store for a file.
  if (head.kind === "export" && back?.state === "moved" && back.move === head.move) {
    const stands = await readHead(destination.to);
    if (stands?.head !== log?.head) throw new MoveRefused(`${destination.name} is not as ${file.name} has it`);
    await arrive(destination, journey, back, deps);
    return { log };
  }
  const loaded: Loading = { state: "loading", move: crypto.randomUUID(), from: file.name, at: moment(deps) };
  const load = async (keep: (versions: readonly Version[]) => Promise<void>): Promise<void> => {
    await read(file, deps, { keep, expected: head });
    await arrive(destination, journey, loaded, deps);
  };
  await loading(destination, loaded, load, deps);
  return { log };
}

/** Reads a file to its end, and hands on what is in it. Errors: `MoveRefused` with the name of the file. */
async function read(
  { name, lines }: ExportFile,
  { sha256 }: MoveDeps,
  on?: { keep(versions: readonly Version[]): Promise<void>; expected: ExportHead },
): Promise<{ head: ExportHead; log: ChainHead | undefined }> {
  const passing = passingLog(sha256);
  try {
    const { head, records, end } = await readExport(lines());
    if (on && on.expected.move !== head.move) throw new MoveRefused("it was replaced while it was read");
    for await (const versions of records) {
      passing.see(versions);
      await on?.keep(versions);
    }
    const log = passing.end();
    if (end().head !== (log?.head ?? null)) throw new MoveRefused("its last line tells of another end of the log");
    return { head, log };
  } catch (error) {
    if (!(error instanceof MoveRefused || error instanceof LogDoesNotHold)) throw error;
    throw new MoveRefused(`${name} cannot be loaded: ${error.message}`, { cause: error });
  }
}
