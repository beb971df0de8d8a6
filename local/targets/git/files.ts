/** Reads and commits JSON files of a repository: each file is one value, and each write one commit. */
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import { findInexactNumber } from "../../../lib/kit/exact_numbers.ts";
import { JsonRejected, parseStrictJson } from "../../../lib/kit/strict_json.ts";
import { type Attempt, TargetRejected, type TargetValue } from "../../../lib/targets/port.ts";
import { describeCommit } from "./trailers.ts";
import { type CallOptions, type FileText, GitFailed, type Repository } from "./repository.ts";

/** The value of a file that does not exist. */
export const ABSENT: TargetValue = { version: "absent" };

/** Returns the text of a value that was not read from a file. */
const renderJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Returns the text to write: the stored text of `next` if it has one, the current text if the value is the same, else new JSON. */
export function renderFile(current: TargetValue, next: TargetValue): string {
  if (next.raw === undefined) {
    const isSame = current.value !== undefined && canonicalJson(current.value) === canonicalJson(next.value);
    return isSame ? current.raw! : renderJson(next.value);
  }
  if (canonicalJson(parseStrictJson(next.raw)) !== canonicalJson(next.value))
    throw new TargetRejected("the stored text of the file differs from its stored value");
  return next.raw;
}

/** Reads the file at a path of a commit. Throws `TargetRejected` where it is not a plain JSON file. */
export async function readJsonFile(
  repository: Repository,
  commit: string,
  path: string,
  signal: AbortSignal,
): Promise<TargetValue> {
  const parts = path.split("/");
  // One call reads all folders on the path, and the file if the clone has it.
  const folders = parts.map((_, depth) => `${commit}:${parts.slice(0, depth).join("/")}`);
  const objects = await readObjects(repository, [...folders, `${commit}:${path}`], { signal });
  const id = findFile(parts, objects);
  if (id === undefined) return ABSENT;
  const bytes = objects.at(-1) ?? (await readObjects(repository, [id], { signal, fetches: true }))[0];
  const name = JSON.stringify(path);
  if (!bytes) throw new GitFailed(`the server did not return ${name}; try again`);
  const raw = decode(bytes);
  if (raw === undefined) throw new TargetRejected(`${name} is not UTF-8 text`);
  if (raw.startsWith("version https://git-lfs"))
    throw new TargetRejected(`${name} is stored by Git LFS, which is not supported; store it in the repository itself`);
  return { value: parse(raw, name), version: id, raw };
}

/** Reads objects by name in one call; `undefined` for each that the clone lacks. */
async function readObjects(
  repository: Repository,
  names: readonly string[],
  options: CallOptions,
): Promise<(Buffer | undefined)[]> {
  const input = names.map((name) => `${name}\n`).join("");
  const { code, stdout } = await repository.call(["cat-file", "--batch"], { ...options, input });
  options.signal?.throwIfAborted();
  if (code !== 0) throw new GitFailed("git cannot read the file: it is too large, or the server does not return it");
  // Each answer is `<id> <type> <size>`, a line end, the bytes and a line end; or `<name> missing` without bytes.
  let at = 0;
  return names.map(() => {
    const end = stdout.indexOf("\n", at);
    const size = / (?:blob|tree) (\d+)$/.exec(stdout.toString("utf8", at, end))?.[1];
    at = end + 1;
    if (size === undefined) return undefined;
    const bytes = stdout.subarray(at, at + Number(size));
    at += Number(size) + 1;
    return bytes;
  });
}

/** Finds the id of a file by the folders on its path. Throws `TargetRejected`. */
function findFile(parts: readonly string[], folders: readonly (Buffer | undefined)[]): string | undefined {
  const name = JSON.stringify(parts.join("/"));
  let id: string | undefined;
  for (const [depth, part] of parts.entries()) {
    const folder = folders[depth];
    if (!folder) return undefined;
    const entries = parseTree(folder);
    const other = entries.find((entry) => entry.name !== part && entry.name.toLowerCase() === part.toLowerCase());
    // On a file system that ignores case, both names are one file.
    if (other)
      throw new TargetRejected(`${name} differs in case only from ${JSON.stringify(other.name)}, which exists`);
    const treeEntry = entries.find((entry) => entry.name === part);
    if (!treeEntry) return undefined;
    const isFile = depth === parts.length - 1;
    if (!isFile && treeEntry.mode !== "40000")
      throw new TargetRejected(`${JSON.stringify(part)} on the path ${name} is a file, not a folder`);
    if (isFile && treeEntry.mode !== "100644")
      throw new TargetRejected(
        `${name} is no plain file (mode ${treeEntry.mode}); folders, links, programs and submodules are not set`,
      );
    ({ id } = treeEntry);
  }
  return id;
}

/** Parses a git tree object: mode, name and the 20 bytes of the id of each entry. */
function parseTree(bytes: Buffer): { mode: string; name: string; id: string }[] {
  const entries = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0, at);
    const [, mode = "", name = ""] = /^(\d+) ([^]*)$/.exec(bytes.toString("utf8", at, end)) ?? [];
    entries.push({ mode, name, id: bytes.toString("hex", end + 1, end + 21) });
    at = end + 21;
  }
  return entries;
}

function parse(raw: string, name: string): unknown {
  try {
    const value = parseStrictJson(raw);
    const inexact = findInexactNumber(raw);
    if (inexact === undefined) return value;
    throw new JsonRejected(`holds a number that would be rounded, at ${JSON.stringify(inexact)}`);
  } catch (error) {
    if (error instanceof JsonRejected) throw new TargetRejected(`${name} ${error.message}; correct the file`);
    throw error;
  }
}

/** Decodes UTF-8; undefined for other bytes. A byte order mark stays in the text, so that the JSON parser rejects it. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Makes a commit on `tip` that sets files, or removes them; returns their versions. Throws `TargetRejected`. */
export async function commitFiles(
  repository: Repository,
  { tip, files }: { tip: string; files: readonly FileText[] },
  attempt: Attempt,
  signal: AbortSignal,
): Promise<{ commit: string; versions: Map<string, string> }> {
  const [{ path } = { path: "" }, ...others] = files;
  const named = others.length === 0 ? path : `${path} and ${others.length} more`;
  const message = describeCommit(`${VERBS[attempt.operation]} ${named}`, attempt);
  const commit = await repository.commitFiles({ tip, files, message, at: attempt.at }, signal);
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", tip, commit];
  const changed = (await repository.output(args, { signal })).split("\0").slice(0, -1);
  const versions = new Map(
    files.map((file) => {
      // Each path follows its record `:mode mode id id status`, whose second id is the new one.
      const change = changed[changed.indexOf(file.path) - 1] ?? "";
      return [file.path, file.text === undefined ? ABSENT.version : change.split(" ")[3]!];
    }),
  );
  if (changed.length !== 2 * files.length || !files.every((file) => changed.includes(file.path)))
    throw new TargetRejected(`the commit would change more than ${files.map((file) => file.path).join(", ")}`);
  return { commit, versions };
}

const VERBS: Record<Attempt["operation"], string> = {
  apply: "Set",
  advance: "Advance",
  rollback: "Roll back",
  restore: "Restore",
};
