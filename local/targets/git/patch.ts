/** Code patches: a range of commits that is pushed as it is, and reverted as a whole. */
import { toOneLine } from "../../../lib/kit/quote.ts";
import { type Attempt, TargetRejected, type TargetValue } from "../../../lib/targets/port.ts";
import { isObject } from "../json_object.ts";
import { GitFailed, type Repository } from "./repository.ts";
import { describeCommit } from "./trailers.ts";

/** The value of a code patch: full commit ids. */
export interface Patch {
  branch: string;
  base: string;
  head: string;
}

const MAX_COMMITS_SHOWN = 100;
const MAX_FILES_SHOWN = 300;
const COMMIT_ID = /^[\da-f]{40}$/;

/** Explains why a value is not a code patch for the branch. */
export function findPatchProblem(value: unknown, branch: string): string | undefined {
  if (!isObject(value) || Object.keys(value).toSorted().join() !== "base,branch,head")
    return "the value of a code patch is {branch, base, head}";
  if (value["branch"] !== branch) return `the branch of the code patch is not ${branch}`;
  for (const name of ["base", "head"] as const)
    if (typeof value[name] !== "string" || !COMMIT_ID.test(value[name]))
      return `${name} must be a full commit id of 40 lower-case hexadecimal digits`;
  return value["base"] === value["head"] ? "base and head are the same commit" : undefined;
}

/** Returns whether a commit of the branch says that it reverts `id`, and is itself not reverted. */
async function isReverted(repository: Repository, id: string, tip: string, signal: AbortSignal): Promise<boolean> {
  const grep = ["--fixed-strings", `--grep=This reverts commit ${id}`];
  const args = ["rev-list", "--topo-order", "--max-count=1", ...grep, `${id}..${tip}`];
  const commit = (await repository.output(args, { signal })).trim();
  return commit !== "" && !(await isReverted(repository, commit, tip, signal));
}

/** Reads the branch in the terms of a patch: the patch itself while the branch has it, else the branch's last commit. */
export async function readPatch(
  repository: Repository,
  patch: Patch,
  tip: string,
  signal: AbortSignal,
): Promise<TargetValue> {
  const { branch, head } = patch;
  const isInForce =
    (await repository.isAncestor(head, tip, signal)) && !(await isReverted(repository, head, tip, signal));
  return { value: isInForce ? patch : { branch, head: tip }, version: tip };
}

/** Throws `TargetRejected` unless `base` is the branch's last commit and `head`, which the server has, descends from it. */
export async function requireApplicable(
  repository: Repository,
  { branch, base, head }: Patch,
  tip: string,
  signal: AbortSignal,
): Promise<void> {
  if (base !== tip)
    throw new TargetRejected(`base is not the last commit of ${branch}, which is ${tip}; rebase and propose again`);
  try {
    await repository.fetchCommits([head], signal);
  } catch (error) {
    if (error instanceof GitFailed) throw new TargetRejected(error.message);
    throw error;
  }
  if (!(await repository.isAncestor(base, head, signal))) throw new TargetRejected("head does not descend from base");
}

/** Commits, files and line counts of a patch; lines of a file that is not text are `null`. */
export interface PatchSummary {
  commit_count: number;
  commits: { id: string; author: string; subject: string }[];
  file_count: number;
  lines_added: number;
  lines_removed: number;
  files: { path: string; added: number | null; removed: number | null; mode: string }[];
}

/** Describes a patch; long lists are cut. */
export async function describePatch(
  { output }: Repository,
  { base, head }: Patch,
  signal: AbortSignal,
): Promise<PatchSummary> {
  const range = `${base}..${head}`;
  const count = await output(["rev-list", "--count", range], { signal });
  const log = await output(["log", "-z", `--max-count=${MAX_COMMITS_SHOWN}`, "--format=%H%n%an%n%s", range], {
    signal,
  });
  const diff = ["diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--raw", "--numstat", base, head];
  const files = parseDiff(await output(diff, { signal, fetches: true }));
  return {
    commit_count: Number(count),
    commits: log
      .split("\0")
      .filter((record) => record !== "")
      .map((record) => {
        const [id = "", author = "", subject = ""] = record.split("\n");
        return { id, author: toOneLine(author), subject: toOneLine(subject) };
      }),
    file_count: files.length,
    lines_added: files.reduce((sum, { added }) => sum + (added ?? 0), 0),
    lines_removed: files.reduce((sum, { removed }) => sum + (removed ?? 0), 0),
    files: files.slice(0, MAX_FILES_SHOWN),
  };
}

/** Reads `diff-tree -z --raw --numstat`: all modes first, then all counts, in the same order. */
function parseDiff(text: string): PatchSummary["files"] {
  const tokens = text.split("\0");
  const modes: string[] = [];
  let at = 0;
  for (; tokens[at]?.startsWith(":"); at += 2) {
    const [from, to] = tokens[at]!.slice(1).split(" ");
    modes.push(from === to ? to! : `${from} → ${to}`);
  }
  const toCount = (digits: string): number | null => (digits === "-" ? null : Number(digits));
  return modes.map((mode, index) => {
    const [, added = "-", removed = "-", path = ""] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(tokens[at + index] ?? "") ?? [];
    return { path, added: toCount(added), removed: toCount(removed), mode };
  });
}

/** Makes a commit on `tip` that reverts a patch; `undefined` where `tip` has none of its edits. */
export async function commitRevert(
  repository: Repository,
  { base, head }: Patch,
  tip: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { output } = repository;
  await repository.fetchCommits([base, head], signal);
  // A person who reverted it with other edits has decided what the branch holds.
  const isPushed = await repository.isAncestor(head, tip, signal);
  if (isPushed && (await isReverted(repository, head, tip, signal))) return undefined;
  const ids = [tip, head, base].map((id) => `${id}^{tree}`);
  const [tipTree, headTree, baseTree] = (await output(["rev-parse", ...ids], { signal })).trim().split("\n") as [
    string,
    string,
    string,
  ];
  const trees = { tipTree, headTree, baseTree, head };
  const tree = tipTree === headTree ? baseTree : await mergeTrees(repository, trees, attempt, signal);
  if (tree === tipTree) return undefined;
  const about = `Revert the code patch ${head.slice(0, 12)}\n\nThis reverts commit ${head}\nand all others since ${base}.`;
  return repository.commit({ tree, parents: [tip], message: describeCommit(about, attempt), at: attempt.at }, signal);
}

/** Returns the tree of the tip without the edits between base and head. Throws `TargetRejected` on a conflict. */
async function mergeTrees(
  repository: Repository,
  { tipTree, headTree, baseTree, head }: Record<"tipTree" | "headTree" | "baseTree" | "head", string>,
  { at }: Attempt,
  signal: AbortSignal,
): Promise<string> {
  // `merge-tree` takes commits, so each tree gets one. The parent of the two sides, their merge base, has the tree with the patch.
  const commitTree = (tree: string, ...parents: string[]): Promise<string> =>
    repository.commit({ tree, parents, message: "a side of a merge\n", at }, signal);
  const parent = await commitTree(headTree);
  const [ours, theirs] = [await commitTree(tipTree, parent), await commitTree(baseTree, parent)];
  const { code, stdout, stderr } = await repository.call(
    ["merge-tree", "--write-tree", "--no-messages", ours, theirs],
    {
      signal,
      fetches: true,
    },
  );
  signal.throwIfAborted();
  if (code === 1)
    throw new TargetRejected(
      `later commits changed what the code patch changed; revert it by hand with "This reverts commit ${head}." in the message, then roll back over the drift`,
    );
  if (code !== 0) throw new GitFailed(`git cannot revert the code patch: ${toOneLine(stderr).slice(0, 300)}`);
  return stdout.toString().trim();
}
