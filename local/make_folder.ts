import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** For the service's own user. */
const OWN = { mode: 0o700 };

/** Makes a folder and those above it. Node's own recursive mkdir never returns where nothing can be made, as in /proc. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, OWN);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, OWN).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== "EEXIST") throw again;
    });
  }
}
