/** Packages that few tests need, and that are too large for everybody who installs: fetched when the first of them runs. */
import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/countersign");

/**
 * A file of a package for Linux on x64, fetched where it is not here yet. `locked`: a folder with a package.json and its lock,
 * by which npm checks what it fetched; `name`: which of its dependencies, where there are several; `optional`: with what
 * packages name for some platforms only. Rejects with the reason where it cannot be had.
 */
export async function fetchedFile(
  locked: string,
  { dependencies }: { dependencies: Record<string, string> },
  file: string,
  { name = Object.keys(dependencies)[0]!, optional = false } = {},
): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`it is there for Linux on x64, and not for ${process.platform} on ${process.arch}`);
  const fetched = join(CACHE, `${basename(locked)}-${dependencies[name]}`);
  const path = join(fetched, "node_modules", name, file);
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) await fetchInto(fetched, locked, optional);
  return path;
}

/** Installs into a folder of its own and then moves that to its place, so that nobody meets half of it. */
async function fetchInto(place: string, locked: string, optional: boolean): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(`${place}-`);
  try {
    await cp(locked, folder, { recursive: true });
    await npmCi(folder, optional);
    await rename(folder, place).catch((error: NodeJS.ErrnoException) => {
      // Another test file was faster: what it fetched is the same.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** npm keeps to the user's configuration, but for its cache, which may lie where nothing can be written. */
async function npmCi(folder: string, optional: boolean): Promise<void> {
  const cache = join(folder, "npm-cache");
  // Packages that a package names for other platforms or other uses are not counted.
  const lean = ["--ignore-scripts", ...(optional ? [] : ["--omit=optional"])];
  const patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"];
  try {
    await promisify(execFile)("npm", ["ci", "--prefix", folder, "--cache", cache, ...lean, ...patience]);
  } catch (error) {
    const { message, stderr = "" } = error as Error & { stderr?: string };
    const [, reason = message] = /^npm error (?!(?:code|syscall|errno)\b)(\S.*)$/m.exec(stderr) ?? [];
    throw new Error(`npm could not fetch it: ${reason}`);
  }
  await rm(cache, { recursive: true });
}
