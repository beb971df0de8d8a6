/** The binary of the DynamoDB emulator: only tests need its 7 MB, so it is fetched when the first of them runs. */
import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import packageJson from "./dynamodb_emulator/package.json" with { type: "json" };

const PACKAGE = "@dynoxide/linux-x64";
/** A package.json and the lock of its one dependency, by which npm checks what it fetched. */
const LOCKED = join(import.meta.dirname, "dynamodb_emulator");
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/countersign");
const FETCHED = join(CACHE, `dynamodb_emulator-${packageJson.dependencies[PACKAGE]}`);

/** The path of the binary, fetched where it is not here yet; rejects with the reason where it cannot be had. */
export async function emulatorBinary(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`there is no emulator for ${process.platform} ${process.arch}`);
  const binary = join(FETCHED, "node_modules", PACKAGE, "dynoxide");
  const isThere = await access(binary).then(
    () => true,
    () => false,
  );
  if (!isThere) await fetchIt();
  return binary;
}

/** Installs into a folder of its own and then moves that to its place, so that nobody meets half of it. */
async function fetchIt(): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(`${FETCHED}-`);
  try {
    await cp(LOCKED, folder, { recursive: true });
    await npmCi(folder);
    await rename(folder, FETCHED).catch((error: NodeJS.ErrnoException) => {
      // Another test file was faster: what it fetched is the same.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** npm keeps to the user's configuration, but for its cache, which may lie where nothing can be written. */
async function npmCi(folder: string): Promise<void> {
  const cache = join(folder, "npm-cache");
  const patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"];
  try {
    await promisify(execFile)("npm", ["ci", "--prefix", folder, "--cache", cache, "--ignore-scripts", ...patience]);
  } catch (error) {
    const { message, stderr = "" } = error as Error & { stderr?: string };
    const [, reason = message] = /^npm error (?!(?:code|syscall|errno)\b)(\S.*)$/m.exec(stderr) ?? [];
    throw new Error(`npm could not fetch its emulator: ${reason}`);
  }
  await rm(cache, { recursive: true });
}
