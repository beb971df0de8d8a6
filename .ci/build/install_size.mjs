/** How much `npm ci --omit=dev` installs: the packages that the lock names for production, as they lie on disk. */
import { access, lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The largest size of all of them together, in bytes. */
export const INSTALL_BUDGET = 9_650_000;

/** The packages of production in a folder with a lock, largest first, and their bytes together. */
export async function installSize(folder) {
  const { packages: locked } = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const production = Object.entries(locked).filter(([place, { dev }]) => place !== "" && !dev);
  const packages = [];
  for (const [place, { optional, devOptional, version }] of production) {
    const here = await access(join(folder, place)).then(
      () => true,
      () => false,
    );
    if (here) packages.push({ place, version, bytes: await bytesOf(join(folder, place)) });
    else if (!optional && !devOptional) throw new Error(`${place} is not installed; run npm ci`);
  }
  packages.sort((a, b) => b.bytes - a.bytes);
  return { packages, bytes: packages.reduce((sum, one) => sum + one.bytes, 0) };
}

/** The bytes of a package's own files: packages inside it stand in the lock themselves. */
async function bytesOf(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const sizes = entries
    .filter(({ name }) => name !== "node_modules")
    .map(async (entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? bytesOf(path) : (await lstat(path)).size;
    });
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

/** Reports the size of an install; rejects when it is over the budget. */
export async function holdInstall(folder, budget = INSTALL_BUDGET) {
  const { packages, bytes } = await installSize(folder);
  const largest = packages.slice(0, 5).map((one) => `${one.place.replace(/^node_modules\//, "")} ${mb(one.bytes)}`);
  const report = `npm ci --omit=dev: ${packages.length} packages, ${mb(bytes)} MB of at most ${mb(budget)} (${largest.join(", ")}, …)`;
  if (bytes > budget) throw new Error(`over its budget: ${report}`);
  return report;
}

const mb = (bytes) => (bytes / 1e6).toFixed(1);
