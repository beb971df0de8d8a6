/** Makes folders for the service's own user. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** Mode: only the service's user may enter. */
const OWN = { mode: 0o700 };

/** Makes a folder and its missing parents. Node's recursive mkdir never returns where no folder can be made, as in /proc. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, OWN);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, OWN).catch((retryError: NodeJS.ErrnoException) => {
      if (retryError.code !== "EEXIST") throw retryError;
    });
  }
}
