/** Marks a folder of self-evolution files with the origin of its log, so that two services never share one folder. */
import { constants } from "node:fs";
import { copyFile, link, rename } from "node:fs/promises";
import { join } from "node:path";
import { readRegular, writeTemporary } from "./evolved_files.ts";
import { makeFolder } from "./make_folder.ts";

/** Name of the marker file; no name of a self-evolution file begins with a dot. */
const MARKER = ".log-origin";

/** A longer file is not a marker. */
const MAX_MARKER_BYTES = 64 * 1024;

/** The owner of a folder. */
interface Claim {
  /** The origin of its log. */
  origin: string;
  /** Name of its state: a new log of the same state takes the folder over. Undefined where `--evolved-dir` names the folder. */
  state?: string | undefined;
}

/** Another service uses the folder, or may use it. */
export class SharedFolder extends Error {
  override readonly name = "SharedFolder";
}

/** Claims a folder for a log; throws `SharedFolder` where it belongs to another one. */
export async function claimEvolvedFolder(folder: string, { origin, state }: Claim): Promise<void> {
  await makeFolder(folder);
  const owner = await readOwner(folder);
  if (owner?.origin === origin) return;
  const isFree = !owner?.origin || (state !== undefined && owner.state === state);
  if (!isFree) throw sharedFolderError(owner);
  const text = `${[origin, ...(state === undefined ? [] : [state])].join("\n")}\n`;
  // A missing marker is only created, never replaced, since another service may claim the folder at the same time.
  try {
    await writeTemporary(folder, text, (temporary) => (owner ? rename : linkOrCopy)(temporary, join(folder, MARKER)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const winner = await readOwner(folder);
    if (winner?.origin !== origin) throw sharedFolderError(winner);
  }
}

/** Returns the owner of a folder, with an empty origin after a crash; undefined without a regular marker. */
async function readOwner(folder: string): Promise<Claim | undefined> {
  const text = (await readRegular(join(folder, MARKER), MAX_MARKER_BYTES))?.toString("utf8");
  if (text === undefined) return undefined;
  const [origin = "", state] = text.trim().split("\n");
  return { origin, state };
}

/** Creates the marker unless there is one: atomically by a hard link, or by a copy where the file system has no links. */
const linkOrCopy = (temporary: string, marker: string): Promise<void> =>
  link(temporary, marker).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") throw error;
    return copyFile(temporary, marker, constants.COPYFILE_EXCL);
  });

const sharedFolderError = (owner: Claim | undefined): SharedFolder =>
  new SharedFolder(
    owner
      ? `has the files of another service, with the log ${owner.origin}; give each service a folder of its own, or remove ${MARKER} there if that service is gone`
      : `${MARKER} is no regular file; remove it`,
  );
