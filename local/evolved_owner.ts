/** Marks a folder of self-evolution files with the log they are about: two services never share one. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "./make_folder.ts";

/** The marker; no name of a self-evolution file begins with a dot. */
const MARKER = ".log-origin";

/**
 * Claims a folder for the log with this origin. A folder of another log is taken over by default; where `isExclusive`, it is
 * an error for people.
 */
export async function claimEvolvedFolder(folder: string, origin: string, isExclusive: boolean): Promise<void> {
  const marker = join(folder, MARKER);
  await makeFolder(folder);
  try {
    await writeFile(marker, `${origin}\n`, { flag: isExclusive ? "wx" : "w" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const owner = (await readFile(marker, "utf8")).trim();
    if (owner !== origin)
      throw new SharedFolder(
        `has the files of another service, with the log ${owner}; give each service a folder of its own`,
        { cause: error },
      );
  }
}

/** Another service uses the folder. */
export class SharedFolder extends Error {
  override readonly name = "SharedFolder";
}
