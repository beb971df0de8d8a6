/** Loads the lines of a file into an empty store. */
import { type ChainHead, readHead } from "../../audit/chain.ts";
import { CopiedLogInvalid, createCopiedLogCheck } from "../../audit/copied_log.ts";
import { type ExportHead, readExport } from "../../store/move/export_format.ts";
import { MoveRejected } from "../../store/move/move_rejected.ts";
import type { Version } from "../../store/version.ts";
import {
  type Destination,
  loadStore,
  type MoveDeps,
  type MoveResult,
  openLoaded,
  requireClock,
  requireMovableStore,
  createMoveDeps,
} from "./load.ts";

/** A file: its name for people, and its lines without line ends, from the beginning at each call. */
export interface ExportFile {
  name: string;
  lines(): AsyncIterable<string>;
}

const COMMANDS = { export: "import", backup: "restore" } as const;

/** A file that was read to its end and is complete. */
export interface CheckedFile {
  file: ExportFile;
  command: "import" | "restore";
  head: ExportHead;
  log: ChainHead | undefined;
}

/** Reads a file to its end and verifies its log; `import` takes an export, `restore` a backup. Errors: `MoveRejected`. */
export async function checkFile(
  file: ExportFile,
  command: "import" | "restore",
  deps: MoveDeps = createMoveDeps(),
): Promise<CheckedFile> {
  const { head, log } = await verifyFile(file, deps).catch((error: unknown) => {
    if (!(error instanceof MoveRejected || error instanceof CopiedLogInvalid)) throw error;
    throw new MoveRejected(`${file.name} cannot be loaded: ${error.message}`, { cause: error });
  });
  if (COMMANDS[head.kind] !== command)
    throw new MoveRejected(
      head.kind === "backup"
        ? `${file.name} is a backup: its store may still be in use, and two stores must not continue one log. If that store is lost: countersign restore`
        : `${file.name} is an export, which moves a store: countersign import`,
    );
  requireClock(log, deps);
  return { file, command, head, log };
}

/**
 * Loads a file, which is read to its end and verified before the destination is changed. `import` takes an export, `restore` a
 * backup. If an export is loaded into the store that it was made of, the fence of that store is removed. Errors: `MoveRejected`;
 * those of the store.
 */
export async function importStore(
  file: ExportFile,
  command: "import" | "restore",
  destination: Destination,
  deps: MoveDeps = createMoveDeps(),
): Promise<MoveResult> {
  return loadFile(await checkFile(file, command, deps), destination, deps);
}

/** Loads a file that was checked. Errors: as `importStore`. */
export async function loadFile(
  { file, command, head, log }: CheckedFile,
  destination: Destination,
  deps: MoveDeps = createMoveDeps(),
): Promise<MoveResult> {
  const origin = { how: command, from: head.from, made_at: head.made_at };
  const marker = await requireMovableStore(destination).moveState();
  const isSource = marker?.state === "moved" || marker?.state === "moving";
  if (head.kind === "export" && isSource && marker.move === head.move) {
    const current = await readHead(destination.to);
    if (current?.head !== log?.head) throw new MoveRejected(`${destination.name} has another log than ${file.name}`);
    await openLoaded(destination, origin, marker, deps);
    return { log };
  }
  return loadStore(destination, origin, () => readPages(file, head), deps);
}

/** Yields the pages of a file that was checked. Errors: `MoveRejected`. */
async function* readPages(file: ExportFile, expected: ExportHead): AsyncGenerator<readonly Version[]> {
  const { head, records } = await readExport(file.lines());
  if (head.move !== expected.move) throw new MoveRejected(`${file.name} was replaced while it was read`);
  yield* records;
}

/** Reads a file to its end and verifies its log. Errors: `MoveRejected`, `CopiedLogInvalid`. */
async function verifyFile(file: ExportFile, { sha256 }: MoveDeps): Promise<Pick<CheckedFile, "head" | "log">> {
  const verifier = createCopiedLogCheck(sha256);
  const { head, records, end } = await readExport(file.lines());
  for await (const versions of records) verifier.check(versions);
  const log = verifier.finish();
  if (end().head !== (log?.head ?? null)) throw new MoveRejected("its last line names another end of the log");
  return { head, log };
}
