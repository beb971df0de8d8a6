/** Creates a target system of a git branch: a value is a JSON file, a code patch is a range of commits. */
import { access, constants } from "node:fs/promises";
import { type Clock, systemClock } from "../../lib/kit/platform.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import {
  type Attempt,
  type Entry,
  type SetManyResult,
  TargetRejected,
  type TargetSystem,
  type TargetValue,
  type Write,
} from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { commitFiles, readJsonFile, renderFile } from "./git/files.ts";
import {
  commitRevert,
  describePatch,
  findPatchProblem,
  type Patch,
  readPatch,
  requireApplicable,
} from "./git/patch.ts";
import { checkBranch, findPathProblem } from "./git/path.ts";
import { parseRemote, type RemoteOptions } from "./git/remote.ts";
import { type Author, GitFailed, gitRepository } from "./git/repository.ts";
import { hasAttempt } from "./git/trailers.ts";

/** The repository, and how an entry becomes the path of a file. */
export interface GitTargetOptions extends RemoteOptions {
  /** The name of the system; `git` when absent. */
  name?: string;
  branch: string;
  /** Returns the path of the entry's file, from the top of the repository. */
  path: (entry: Entry) => string;
  /** Folder of a cached clone, for this process alone; it is made with mode 0700. */
  folder: string;
  author?: Author;
  clock?: Clock;
}

/** Maximum number of retries when the branch moves and the target does not change. */
const MAX_RETRIES = 5;
/** Time after a lost connection in which the server may still carry out a push. */
const MAX_LATE_PUSH_MS = 10 * 60_000;

const AUTHOR: Author = { name: "Countersign", email: "countersign@localhost" };

const isPatch = ({ kind }: Entry): boolean => kind === "code_patch";

/** The result of a publication: `moved` means that the branch points to another commit, and nothing was set. */
type PublishResult = "done" | "moved" | { rejected: string };

/** Creates the target system. Errors: `TypeError` for invalid options. */
export function gitTarget(options: GitTargetOptions): TargetSystem {
  const { name = "git", path: findPath, folder, author = AUTHOR, clock = systemClock, signingKey } = options;
  const remote = parseRemote(options);
  const branch = checkBranch(options.branch);
  if (!/^[^<>\p{Cc}]+$/u.test(author.name) || !/^[^<>\p{Cc}\s]+$/u.test(author.email))
    throw new TypeError("author needs a name and an email without angle brackets");
  const repository = gitRepository({ remote, branch, folder, author, isSigned: signingKey !== undefined });

  /** Attempts of this process that failed before their push, which the server therefore cannot apply later. */
  const unsent = new Set<string>();
  /** Attempts whose push the server may still carry out. */
  const sent = new Set<string>();

  const check = (entry: Entry): string | undefined =>
    isPatch(entry) ? findPatchProblem(entry.value, branch) : findPathProblem(findPath(entry));

  const requireUsable = (entry: Entry): void => {
    const problem = check(entry);
    if (problem !== undefined) throw new TargetRejected(problem);
  };

  /** Files of the commit that was read last. */
  let fileCache: { tip: string; values: Map<string, TargetValue> } = { tip: "", values: new Map() };

  const readFrom = async (tip: string, entry: Entry, signal: AbortSignal): Promise<TargetValue> => {
    if (isPatch(entry)) return readPatch(repository, entry.value as Patch, tip, signal);
    if (fileCache.tip !== tip) fileCache = { tip, values: new Map() };
    const { values } = fileCache;
    const path = findPath(entry);
    const value = values.get(path) ?? (await readJsonFile(repository, tip, path, signal));
    values.set(path, value);
    return structuredClone(value);
  };

  /** Pushes a commit. Throws `Unanswered` where the server may have set the branch, or may still. */
  const publish = async (
    base: string,
    head: string,
    { attempt }: Attempt,
    signal: AbortSignal,
  ): Promise<PublishResult> => {
    signal.throwIfAborted();
    sent.add(attempt);
    const pushed = await repository.push(base, head, signal).catch((error: unknown) => {
      // `push` throws only before git is started.
      sent.delete(attempt);
      throw error;
    });
    if (pushed.state === "unknown") return findOutcome(base, head, attempt, signal);
    sent.delete(attempt);
    return pushed.state === "rejected" ? { rejected: pushed.reason } : pushed.state;
  };

  /** Asks the server for the branch after a push without an answer. */
  const findOutcome = async (
    base: string,
    head: string,
    attempt: string,
    signal: AbortSignal,
  ): Promise<PublishResult> => {
    let tip: string | undefined;
    try {
      tip = await repository.fetchTip(signal);
      if (await repository.isAncestor(head, tip, signal)) return "done";
    } catch {
      tip = undefined;
    }
    if (tip === undefined || tip === base) throw new Unanswered("the git server did not say whether it took the push");
    // The branch is no longer at the commit that the push requires, so the server cannot carry it out later either.
    sent.delete(attempt);
    return "moved";
  };

  const setFiles = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    const { attempt } = writes[0]!;
    for (let tries = 0; tries <= MAX_RETRIES; tries++) {
      // The first try uses the commit that was read last: if the branch has moved, the push is rejected.
      const cached = tries === 0 ? repository.lastTip() : undefined;
      const tip = cached ?? (await repository.fetchTip(signal));
      const current: TargetValue[] = [];
      for (const { entry } of writes) current.push(await readFrom(tip, entry, signal));
      const index = writes.findIndex(({ expected }, at) => current[at]!.version !== expected.version);
      const rendered = writes.map(({ entry, next }, at) => ({
        path: findPath(entry),
        text: next && renderFile(current[at]!, next),
      }));
      const files = rendered.filter(({ text }, at) => text !== current[at]!.raw);
      // Without a push, only the server can confirm a conflict, or that nothing is to be done.
      if (cached !== undefined && (index >= 0 || files.length === 0)) continue;
      if (index >= 0) return { done: false, index, conflict: current[index]! };
      if (files.length === 0) return { done: true, versions: current.map(({ version }) => version) };
      const { commit, versions } = await commitFiles(repository, { tip, files }, attempt, signal);
      const published = await publish(tip, commit, attempt, signal);
      if (published === "done")
        return { done: true, versions: rendered.map(({ path }, at) => versions.get(path) ?? current[at]!.version) };
      if (published !== "moved") return { done: false, ...published };
    }
    return { done: false, rejected: "the branch moved at every try; try again" };
  };

  const setPatch = async ({ entry, expected, attempt }: Write, signal: AbortSignal): Promise<SetManyResult> => {
    const patch = entry.value as Patch;
    const cached = repository.lastTip();
    const tip = cached === expected.version ? cached : await repository.fetchTip(signal);
    if (tip !== expected.version) return { done: false, index: 0, conflict: await readFrom(tip, entry, signal) };
    let commit: string | undefined = patch.head;
    if (attempt.operation === "rollback") commit = await commitRevert(repository, patch, tip, attempt, signal);
    else await requireApplicable(repository, patch, tip, signal);
    // The branch has none of the patch's edits, so there is nothing to revert.
    if (commit === undefined) return { done: true, versions: [tip] };
    const published = await publish(tip, commit, attempt, signal);
    if (published === "done") return { done: true, versions: [commit] };
    if (published !== "moved") return { done: false, ...published };
    return { done: false, index: 0, conflict: await readFrom(await repository.fetchTip(signal), entry, signal) };
  };

  const setMany = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    const [first] = writes as [Write];
    const { attempt } = first.attempt;
    try {
      for (const { entry } of writes) requireUsable(entry);
      if (writes.length > 1 && writes.some(({ entry }) => isPatch(entry)))
        throw new TargetRejected("a code patch is pushed by itself");
      return await (isPatch(first.entry) ? setPatch(first, signal) : setFiles(writes, signal));
    } catch (error) {
      if (!sent.has(attempt)) unsent.add(attempt);
      if (error instanceof TargetRejected) return { done: false, rejected: error.message };
      throw error;
    }
  };

  return {
    name,
    guard: "atomic",
    check,
    isCumulative: isPatch,
    place: (entry) =>
      isPatch(entry) ? `git ${remote.url} ${branch}` : `git ${remote.url} ${branch} ${JSON.stringify(findPath(entry))}`,

    async read(entry, signal) {
      requireUsable(entry);
      return readFrom(await repository.fetchTip(signal), entry, signal);
    },

    async preview(entry, current, signal) {
      if (!isPatch(entry)) return undefined;
      await requireApplicable(repository, entry.value as Patch, current.version, signal);
      return describePatch(repository, entry.value as Patch, signal);
    },

    setMany,
    compareAndSet: makeCompareAndSet(setMany),

    async resolve(entry, attempt, signal) {
      const tip = await repository.fetchTip(signal);
      const isPatchApply = isPatch(entry) && attempt.operation !== "rollback";
      const isDone = isPatchApply
        ? await repository.isAncestor((entry.value as Patch).head, tip, signal)
        : await hasAttempt(repository, tip, attempt, signal);
      if (isDone) return "done";
      // The push of a patch requires the branch to be at its base.
      if (unsent.has(attempt.attempt) || (isPatchApply && tip !== (entry.value as Patch).base)) return "not_done";
      return clock.now() < Date.parse(attempt.at) + MAX_LATE_PUSH_MS ? "open" : "not_done";
    },

    async probe() {
      await repository.checkProgram();
      for (const [option, file] of [
        ["ssh key file", options.sshKeyFile],
        ["known hosts file", options.knownHostsFile],
        ["signing key", signingKey],
      ] as const)
        if (file !== undefined)
          await access(file, constants.R_OK).catch(() => {
            throw new GitFailed(`the ${option} cannot be read; let the service's user read it`);
          });
    },

    ping: repository.ping,
  };
}
