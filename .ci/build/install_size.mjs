/** Measures what `npm ci --omit=dev` installs: the production packages in the lock file, by their size on disk. */
import { access, lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Maximum size of all production packages together, in bytes. */
export const INSTALL_BUDGET = 9_650_000;

/** Returns the production packages in a folder with a lock file, largest first, and their total size. */
export async function measureInstall(folder) {
  const { packages: locked } = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const production = Object.entries(locked).filter(([path, { dev }]) => path !== "" && !dev);
  const packages = [];
  for (const [path, { optional, devOptional, version }] of production) {
    const isInstalled = await access(join(folder, path)).then(
      () => true,
      () => false,
    );
    if (isInstalled) packages.push({ path, version, bytes: await measurePackage(join(folder, path)) });
    // `devOptional`: needed by development packages, and optional for the others.
    else if (!optional && !devOptional) throw new Error(`${path} is not installed; run npm ci`);
  }
  packages.sort((a, b) => b.bytes - a.bytes);
  return { packages, bytes: packages.reduce((sum, one) => sum + one.bytes, 0) };
}

/** Returns the size of a package's own files, without packages inside it, which the lock file lists too. */
async function measurePackage(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const sizes = entries
    .filter(({ name }) => name !== "node_modules")
    .map(async (entry) => {
      const entryPath = join(folder, entry.name);
      return entry.isDirectory() ? measurePackage(entryPath) : (await lstat(entryPath)).size;
    });
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

/** Returns a line with the size of an install. Throws if it is over the budget. */
export async function checkInstallSize(folder, budget = INSTALL_BUDGET) {
  const { packages, bytes } = await measureInstall(folder);
  const largest = packages
    .slice(0, 5)
    .map((one) => `${one.path.replace(/^node_modules\//, "")} ${formatMegabytes(one.bytes)}`);
  const report = `npm ci --omit=dev: ${packages.length} packages, ${formatMegabytes(bytes)} MB of at most ${formatMegabytes(budget)} (${largest.join(", ")}, …)`;
  if (bytes > budget) throw new Error(`over its budget: ${report}`);
  return report;
}

const formatMegabytes = (bytes) => (bytes / 1e6).toFixed(1);
