/** Marks a folder of self-evolution files with the log they are about: two services never share one. */
import { constants } from "node:fs";
import { copyFile, link, rename } from "node:fs/promises";
import { join } from "node:path";
import { readRegular, writeAside } from "./evolved_files.ts";
import { makeFolder } from "./make_folder.ts";

/** The marker; no name of a self-evolution file begins with a dot. */
const MARKER = ".log-origin";

/** A longer marker is none of ours. */
const MAX_MARKER_BYTES = 64 * 1024;

/** The owner of a folder. */
interface Claim {
  /** The origin of its log. */
  origin: string;
  /** The state whose next log takes the folder over; undefined where `--evolved-dir` names the folder. */
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
  if (!isFree) throw sharedWith(owner);
  const text = `${[origin, ...(state === undefined ? [] : [state])].join("\n")}\n`;
  try {
    await writeAside(folder, text, (aside) => (owner ? rename : linkOrCopy)(aside, join(folder, MARKER)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const winner = await readOwner(folder);
    if (winner?.origin !== origin) throw sharedWith(winner);
  }
}

/** Returns the owner of a folder, with an empty origin after a crash; undefined without a regular marker. */
async function readOwner(folder: string): Promise<Claim | undefined> {
  const text = (await readRegular(join(folder, MARKER), MAX_MARKER_BYTES))?.toString("utf8");
  if (text === undefined) return undefined;
  const [origin = "", state] = text.trim().split("\n");
  return { origin, state };
}

/** Makes a marker where there is none, with its content where the file system has links. */
const linkOrCopy = (aside: string, marker: string): Promise<void> =>
  link(aside, marker).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") throw error;
    return copyFile(aside, marker, constants.COPYFILE_EXCL);
  });

const sharedWith = (owner: Claim | undefined): SharedFolder =>
  new SharedFolder(
    owner
      ? `has the files of another service, with the log ${owner.origin}; give each service a folder of its own, or remove ${MARKER} there if that service is gone`
      : `${MARKER} is no regular file; remove it`,
  );
