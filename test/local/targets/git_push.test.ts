/** Failed calls of git are described by the line that has their cause. */
import { expect, test } from "vitest";
import { describeFailure } from "../../../local/targets/git/push.ts";

const COULD_NOT_READ =
  "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n";

test.each([
  ["ssh: connect to host git.acme.example port 22: Connection refused\r\n" + COULD_NOT_READ],
  ["ssh: Could not resolve hostname git.acme.example: Name or service not known\r\n" + COULD_NOT_READ],
])("a failure of ssh is described by the line of ssh", (stderr) => {
  expect(describeFailure("ls-remote", stderr)).toBe(`git ls-remote failed: ${stderr.split("\r")[0]}`);
});

test.each([
  ["fatal: unable to access 'https://x/': timeout\n", "unable to access 'https://x/': timeout"],
  ["", "it was stopped, or printed no reason"],
])("another failure is described by git's own line: %j", (stderr, reason) => {
  expect(describeFailure("push", stderr)).toBe(`git push failed: ${reason}`);
});
