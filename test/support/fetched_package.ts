/** Large packages that few tests need: npm fetches them when the first of these tests runs. */
import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/countersign");

/**
 * Returns the path of a file in a package for Linux on x64, which npm installs into a cache if it is missing. `lockFolder`
 * contains a package.json and its lock file; `name` selects one of several dependencies; `optional` installs optional
 * dependencies too. Rejects with the reason where the package is not available.
 */
export async function fetchedFile(
  lockFolder: string,
  { dependencies }: { dependencies: Record<string, string> },
  file: string,
  { name = Object.keys(dependencies)[0]!, optional = false } = {},
): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`the package is available for Linux on x64, and not for ${process.platform} on ${process.arch}`);
  const cached = join(CACHE, `${basename(lockFolder)}-${dependencies[name]}`);
  const path = join(cached, "node_modules", name, file);
  const isCached = await access(path).then(
    () => true,
    () => false,
  );
  if (!isCached) await fetchInto(cached, lockFolder, optional);
  return path;
}

/** Installs into a temporary folder and renames it, so that no process uses an incomplete install. */
async function fetchInto(path: string, lockFolder: string, optional: boolean): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(`${path}-`);
  try {
    await cp(lockFolder, folder, { recursive: true });
    await npmCi(folder, optional);
    await rename(folder, path).catch((error: NodeJS.ErrnoException) => {
      // Another test file has installed the same package.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs `npm ci` with the user's configuration and a cache of its own, since the user's cache may be read-only. */
async function npmCi(folder: string, optional: boolean): Promise<void> {
  const cache = join(folder, "npm-cache");
  // Optional dependencies are installed only on request.
  const flags = ["--ignore-scripts", ...(optional ? [] : ["--omit=optional"])];
  const retries = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"];
  try {
    await promisify(execFile)("npm", ["ci", "--prefix", folder, "--cache", cache, ...flags, ...retries]);
  } catch (error) {
    const { message, stderr = "" } = error as Error & { stderr?: string };
    const [, reason = message] = /^npm error (?!(?:code|syscall|errno)\b)(\S.*)$/m.exec(stderr) ?? [];
    throw new Error(`npm could not fetch the package: ${reason}`);
  }
  await rm(cache, { recursive: true });
}
