/** Reads what a push printed: only a line of the server, or a failure before anything was sent, is certain. */
import { toOneLine } from "../../../lib/kit/quote.ts";
import type { GitResult } from "./process.ts";

/** The result of a push: `moved` means that the branch has another tip than expected, `unknown` that the server may have set it or still may. */
export type PushResult = { state: "done" | "moved" | "unknown" } | { state: "rejected"; reason: string };

/** The server's reasons that mean a concurrent push. */
const MOVED =
  /stale info|non-fast-forward|fetch first|atomic transaction failed|failed to update ref|cannot lock ref|incorrect old value/;
/** Git fails with these before it sends anything. */
const BEFORE_SENDING =
  /^fatal: (?:unable to access|Could not read from remote repository|the remote end hung up upon initial contact|could not read (?:Username|Password)|Authentication failed|repository .* not found|the receiving end does not support)/m;

/** Parses the output of `git push --porcelain`, which reports a branch that was not set as `!<tab>refs<tab>reason`. */
export function parsePush({ code, stdout, stderr }: GitResult): PushResult {
  const line = stdout.toString().match(/^!\t[^\t]*\t(.*)$/m)?.[1];
  if (code === 0) return { state: "done" };
  if (code === null) return { state: "unknown" };
  if (line?.startsWith("[remote rejected]") || line?.startsWith("[rejected]")) {
    if (MOVED.test(line)) return { state: "moved" };
    return {
      state: "rejected",
      reason: `the server rejects the push: ${describeLine(line)}${describeServerText(stderr)}`,
    };
  }
  if (line === undefined && BEFORE_SENDING.test(stderr))
    return { state: "rejected", reason: describeFailure("push", stderr) };
  return { state: "unknown" };
}

const describeLine = (line: string): string => toOneLine(/\((.*)\)$/.exec(line)?.[1] ?? line).slice(0, 200);

/** Returns the texts that the server's hooks printed. */
function describeServerText(stderr: string): string {
  const lines = [...stderr.matchAll(/^remote: (.*)$/gm)]
    .map(([, text]) => toOneLine(text!))
    .filter((text) => text !== "");
  return lines.length === 0 ? "" : `: ${lines.join(" ").slice(0, 300).toWellFormed()}`;
}

/** Known failures with advice. */
const FAILURES: [pattern: RegExp, advice: string][] = [
  [/couldn't find remote ref/, "the branch does not exist; create it with a first commit"],
  [/Host key verification failed/, "the server's host key is not the one in the known hosts file; correct the file"],
  [
    /Permission denied|Authentication failed|could not read (?:Username|Password)|returned error: 40[13]|read.only/i,
    "the server rejects the credentials; check the key or token, and that it may read and write the repository",
  ],
  [
    /detected dubious ownership/,
    "the repository belongs to another user of this machine; let the service's user own it",
  ],
  [/not our ref|unadvertised object/, "the server does not have the commit; push it to a branch of the repository"],
  [/is not a git command|unknown switch|usage: git/, "this version of git is too old; install git 2.38 or newer"],
];

/** Describes a failed call in a sentence for people. */
export function describeFailure(command: string, stderr: string): string {
  const advice = FAILURES.find(([pattern]) => pattern.test(stderr))?.[1];
  // Git itself says of a failed ssh only that it could not read.
  const line =
    /^ssh: .*$/m.exec(stderr)?.[0] ??
    /^(?:fatal|error): (.*)$/m.exec(stderr)?.[1] ??
    "it was stopped, or printed no reason";
  return `git ${command} failed: ${advice ?? toOneLine(line).slice(0, 300).toWellFormed()}`;
}
