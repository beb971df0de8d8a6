/** `countersign-verify` as it is published: one file, a process of its own. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inFull } from "../../support/run_length.ts";
import { rehashed, write } from "../../tamper/world.ts";
import { verifierWorld } from "./in_process.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-verify-"));
afterAll(() => rmSync(folder, { recursive: true }));
const program = join(folder, "countersign-verify.mjs");

beforeAll(async () => {
  await esbuild.build({
    entryPoints: [join(import.meta.dirname, "../../../local/verify/main.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
  });
});

function run(args: readonly string[], node: readonly string[] = []) {
  return spawnSync(process.execPath, [...node, program, ...args], { encoding: "utf8" });
}

inFull(test)("memory stays flat: a log larger than the heap is verified", async () => {
  const { entries } = await verifierWorld();
  // Details of 55 MB, more than the heap of 48 MB below.
  const large = Array.from({ length: 110 }, (_, i) => ({
    ...entries[i]!,
    detail: JSON.stringify({ decision: "denied", approver: "x".repeat(500_000) }),
  }));
  const log = join(folder, "large.jsonl");
  writeFileSync(log, write(rehashed(large, 0)));
  // Exit code 2: the log is consistent, but no data from outside confirms it.
  expect(run([log, "--json"], ["--max-old-space-size=48"]).status).toBe(2);
});

test("an export that cannot be read ends the process with exit code 3", () => {
  const { status, stdout, stderr } = run([join(folder, "none.jsonl")]);
  expect([status, stdout, stderr]).toEqual([3, "", "countersign-verify: the export cannot be read: ENOENT\n"]);
});

test("--help lists the exit codes", () => {
  const { status, stdout } = run(["--help"]);
  expect([status, stdout]).toEqual([0, expect.stringContaining("Exit codes: 0 valid")]);
});
