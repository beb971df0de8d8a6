/** What is deployed, held against the tools that deploy it, where they are here. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** What the linter of CloudFormation says of the template, or undefined where it does not run: it is a Python program. */
function linted(): string | undefined {
  const strict = ["--non-zero-exit-code", "informational", "template.yaml"];
  const { error, status, stdout, stderr } = spawnSync("cfn-lint", strict, { cwd: ROOT, encoding: "utf8" });
  // A shim says so where the program it stands for is not installed.
  if (!error && status !== 127) return status === 0 ? "" : stdout + stderr;
  const reason = error?.message ?? stderr.trim();
  process.stderr.write(
    `template.yaml is not linted: cfn-lint is not here (${reason}); pip install cfn-lint brings it\n`,
  );
  return undefined;
}

test("cfn-lint finds nothing in template.yaml", (context) => {
  const found = linted();
  context.skip(found === undefined, "cfn-lint is not here");
  expect(found).toBe("");
});
