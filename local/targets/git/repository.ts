/** Manages a bare clone, which is only a cache: each read asks the server, and each write is a push with a lease. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describeFailure, parsePush, type PushResult } from "./push.ts";
import { type GitResult, runGit } from "./process.ts";
import type { Remote } from "./remote.ts";

/** Limit of a fetch; the first one of a large repository takes long, and continues after an operation has timed out. */
const FETCH_LIMIT_MS = 10 * 60_000;
/** Each fetch adds a pack; with more than these at the start, the clone is created again. */
const MAX_PACKS = 500;

/** Content of the configuration file. Address, credentials and all other settings come from the environment that remote.ts creates. */
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
/** Content of HEAD that identifies the clone as the service's own. */
const HEAD = "ref: refs/heads/countersign-cache\n";
const TIP = "refs/countersign/tip";
const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];

/** A call of git failed; the message is for people. */
export class GitFailed extends Error {
  override readonly name = "GitFailed";
}

/** Name and address of the author of commits. */
export interface Author {
  name: string;
  email: string;
}

/** A commit to be made. */
export interface Commit {
  tree: string;
  parents: readonly string[];
  message: string;
  /** RFC 3339. */
  at: string;
}

/** The text of a file in a commit; `undefined` removes the file. */
export interface FileText {
  path: string;
  text: string | undefined;
}

/** A commit of files on `tip`. */
export interface FilesCommit extends Pick<Commit, "message" | "at"> {
  tip: string;
  files: readonly FileText[];
}

const toSeconds = (at: string): number => Math.floor(Date.parse(at) / 1000);

/** Options of a call of git. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  input?: string | undefined;
  env?: Record<string, string> | undefined;
  /** Fetches missing contents of files. */
  fetches?: boolean | undefined;
}

/** Options of a repository. */
export interface RepositoryOptions {
  remote: Remote;
  branch: string;
  /** The clone's folder, mode 0700; it is created, and is only a cache. */
  folder: string;
  author: Author;
  isSigned: boolean;
}

/** Access to a repository. */
export type Repository = ReturnType<typeof gitRepository>;

/** Creates access to a repository; the folder is checked at each operation. */
export function gitRepository({ remote, branch, folder: folderOption, author, isSigned }: RepositoryOptions) {
  const folder = resolve(folderOption);
  const ref = `refs/heads/${branch}`;

  const call = (args: readonly string[], options: CallOptions = {}, limitMs?: number): Promise<GitResult> => {
    const { signal, input, fetches } = options;
    const env = { ...(fetches ? remote.fetchingEnv : remote.env), ...options.env };
    return runGit({ args: ["--git-dir", folder, ...args], env, folder, signal, input, limitMs });
  };

  /** Runs git and returns its output; throws `GitFailed`. */
  const output = async (args: readonly string[], options: CallOptions = {}): Promise<string> => {
    const { code, stdout, stderr } = await call(args, options);
    options.signal?.throwIfAborted();
    if (code !== 0) throw new GitFailed(describeFailure(args[0]!, stderr));
    return stdout.toString();
  };

  /** The last commit of the branch that the clone has. */
  let knownTip: string | undefined;
  /** True after leftovers were removed, once in the life of this process. */
  let isTidy = false;
  /** Makes an empty folder, or the service's own clone, a repository with the service's configuration. Throws for any other folder. */
  const prepareNow = async (): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { mode, uid } = await stat(folder);
    if ((mode & 0o077) !== 0 || uid !== process.getuid?.())
      throw new GitFailed("the clone's folder must have mode 0700 and belong to the service's user; remove it");
    const names = await readdir(folder);
    const head = await readFile(join(folder, "HEAD"), "utf8").catch(() => undefined);
    if (names.length > 0 && head !== HEAD)
      throw new GitFailed("the clone's folder holds something else; name an empty folder");
    if (names.length === 0) knownTip = undefined;
    if (!isTidy) await removeOldFiles();
    isTidy = true;
    if (head !== HEAD) await writeFile(join(folder, "HEAD"), HEAD);
    const config = await readFile(join(folder, "config"), "utf8").catch(() => undefined);
    if (config !== CONFIG) await writeFile(join(folder, "config"), CONFIG);
    for (const name of ["objects", "refs"]) await mkdir(join(folder, name), { recursive: true });
  };

  // One at a time; a failure does not prevent the next.
  let prepared: Promise<void> = Promise.resolve();
  const prepare = (): Promise<void> => (prepared = prepared.then(prepareNow, prepareNow));

  /** Removes locks that a killed process left, and the objects of a clone with many packs. */
  const removeOldFiles = async (): Promise<void> => {
    const packed = await readdir(join(folder, "objects", "pack")).catch(() => []);
    const isLarge = packed.filter((name) => name.endsWith(".pack")).length > MAX_PACKS;
    const old = [...(isLarge ? ["objects", "refs"] : []), `${TIP}.lock`];
    for (const name of old) await rm(join(folder, name), { recursive: true, force: true });
  };

  /** Asks the server for the branch. Throws where it does not answer, rejects the credentials, or has no such branch. */
  const findTip = async (signal?: AbortSignal): Promise<string> => {
    await prepare();
    const { code, stdout, stderr } = await call(["ls-remote", "--exit-code", "origin", ref], { signal });
    signal?.throwIfAborted();
    // With `--exit-code`, git ends with 2 if the server has no such branch.
    if (code === 2) throw new GitFailed(`the branch ${branch} does not exist; create it with a first commit`);
    const [, id] = /^([\da-f]{40})\t/.exec(stdout.toString()) ?? [];
    if (code !== 0 || id === undefined) throw new GitFailed(describeFailure("ls-remote", stderr));
    return id;
  };

  let isChecked = false;
  /** Throws where git is missing or too old to revert a patch. Touches nothing. */
  const checkProgram = async (): Promise<void> => {
    if (isChecked) return;
    const { stdout } = await runGit({ args: ["--version"], env: remote.env, folder: "/" });
    const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout.toString()) ?? [];
    const isRecent = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 38);
    if (!isRecent) throw new GitFailed("this version of git is too old; install git 2.38 or newer");
    isChecked = true;
  };

  const fetchBranch = async (): Promise<string> => {
    const tip = await findTip();
    if (tip === knownTip) return tip;
    const result = await call([...FETCH, "origin", `+${ref}:${TIP}`], { fetches: true }, FETCH_LIMIT_MS);
    if (result.code !== 0) throw new GitFailed(describeFailure("fetch", result.stderr));
    return (knownTip = (await readFile(join(folder, TIP), "utf8")).trim());
  };

  // Callers that arrive while a fetch runs share the next one: the tip that they read is not older than their call.
  let running: Promise<unknown> = Promise.resolve();
  let queued: Promise<string> | undefined;
  const queueFetch = (): Promise<string> =>
    (queued ??= running.then(() => {
      const fetched = fetchBranch();
      queued = undefined;
      running = fetched.catch(() => undefined);
      return fetched;
    }));

  /** Fetches the branch, and returns the id of its last commit. */
  const fetchTip = async (signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted();
    let abort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
    });
    try {
      return await Promise.race([queueFetch(), aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  };

  /** The commit that this process made last. */
  let lastCommit: { id: string; parents: readonly string[] } | undefined;

  const isAncestor = async (id: string, descendant: string, signal: AbortSignal): Promise<boolean> => {
    if (id === descendant || (lastCommit?.id === descendant && lastCommit.parents.includes(id))) return true;
    const { code, stderr } = await call(["merge-base", "--is-ancestor", id, descendant], { signal });
    signal.throwIfAborted();
    // A commit that the clone lacks is in no branch that it has.
    if (code === 0 || code === 1 || /Not a valid commit name/.test(stderr)) return code === 0;
    throw new GitFailed(describeFailure("merge-base", stderr));
  };

  const commit = async ({ tree, parents, message, at }: Commit, signal: AbortSignal): Promise<string> => {
    const env = Object.fromEntries(
      ["AUTHOR", "COMMITTER"].flatMap((role) => [
        [`GIT_${role}_NAME`, author.name],
        [`GIT_${role}_EMAIL`, author.email],
        [`GIT_${role}_DATE`, `@${toSeconds(at)} +0000`],
      ]),
    );
    const args = ["commit-tree", ...(isSigned ? ["-S"] : []), ...parents.flatMap((id) => ["-p", id]), "-F", "-", tree];
    const id = (await output(args, { env, signal, input: message })).trim();
    lastCommit = { id, parents };
    return id;
  };

  /** Commits files on `tip`. A part of a path that is a file becomes a folder. */
  const commitFiles = async ({ tip, files, message, at }: FilesCommit, signal: AbortSignal): Promise<string> => {
    const temporaryRef = `refs/countersign/made-${crypto.randomUUID()}`;
    const data = (content: string): string => `data ${Buffer.byteLength(content)}\n${content}\n`;
    const input = [
      `commit ${temporaryRef}\nmark :1\n`,
      `committer ${author.name} <${author.email}> ${toSeconds(at)} +0000\n`,
      data(message),
      `from ${tip}\n`,
      ...files.map(({ path, text }) => (text === undefined ? `D ${path}\n` : `M 100644 inline ${path}\n${data(text)}`)),
      // The commit is pushed by its id, so the ref is removed again.
      `reset ${temporaryRef}\nfrom ${"0".repeat(40)}\n\nget-mark :1\ndone\n`,
    ].join("");
    const id = (await output(["fast-import", "--quiet", "--done"], { input, signal })).trim();
    // `fast-import` does not sign, so its commit only provides the tree.
    if (isSigned) return commit({ tree: `${id}^{tree}`, parents: [tip], message, at }, signal);
    lastCommit = { id, parents: [tip] };
    return id;
  };

  return {
    call,
    output,
    fetchTip,
    /** Returns the commit that the branch had when it was read or pushed last. */
    lastTip: (): string | undefined => knownTip,
    isAncestor,
    commit,
    commitFiles,
    checkProgram,
    ping: async (signal: AbortSignal): Promise<void> => void (await findTip(signal)),

    /** Fetches commits by id. Throws `GitFailed` where the server does not have them. */
    async fetchCommits(ids: readonly string[], signal: AbortSignal): Promise<void> {
      await output([...FETCH, "origin", ...ids], { signal, fetches: true });
    },

    /** Sets the branch from `base` to `head`, its descendant, if it is at `base`. */
    async push(base: string, head: string, signal: AbortSignal): Promise<PushResult> {
      // The lease alone would let a push replace the history before it.
      if (!(await isAncestor(base, head, signal)))
        return { state: "rejected", reason: "the commit does not descend from the branch" };
      const options = ["--porcelain", "--atomic", "--no-verify", "--recurse-submodules=no"];
      const lease = `--force-with-lease=${ref}:${base}`;
      const args = ["push", ...options, lease, "origin", `${head}:${ref}`];
      const pushed = parsePush(await call(args, { signal, fetches: true }));
      if (pushed.state === "done") knownTip = head;
      return pushed;
    },
  };
}
