/** Checks paths of files in a repository, and names of branches. */

const MAX_PATH_LENGTH = 1000;
/** Control characters, separators of other systems, and what begins a pathspec. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\\:*?"<>|]/u;
/** `.git` as file systems that ignore case, trailing dots and spaces, or shorten names would read it. */
const GIT_FOLDER = /^(?:\.git|git~\d+)[. ]*$/i;

/** Explains why a path cannot name a file that the service writes. */
export function findPathProblem(path: string): string | undefined {
  const name = JSON.stringify(path.slice(0, 100));
  if (path === "" || path.length > MAX_PATH_LENGTH) return `the path ${name} is empty or too long`;
  if (UNSAFE.test(path) || path.normalize("NFC") !== path)
    return `the path ${name} holds a character that is not allowed`;
  for (const segment of path.split("/")) {
    if (segment === "" || segment === "." || segment === "..") return `the path ${name} has an empty part, . or ..`;
    if (GIT_FOLDER.test(segment)) return `the path ${name} leads into git's own folder`;
    if (/^-|[. ]$|^ /.test(segment))
      return `a part of the path ${name} begins with a dash or space, or ends in a dot or space`;
  }
  if (!path.endsWith(".json")) return `the path ${name} does not end in .json; only JSON files are supported`;
  return undefined;
}

const BRANCH = /^\w[\w.-]*(?:\/\w[\w.-]*)*$/;

/** Returns the name of a branch; throws `TypeError` for one that git or a command line could misread. */
export function checkBranch(branch: string): string {
  const isSafe = BRANCH.test(branch) && !/\.\.|\.(?:lock)?(?:\/|$)/.test(branch) && branch.length <= 200;
  if (!isSafe) throw new TypeError(`branch must be the plain name of a branch, such as main`);
  return branch;
}
