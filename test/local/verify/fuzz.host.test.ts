/**
 * Runs both offline verifiers on the same inputs: exports, certificates, checkpoints, policies and keys, mutated at random. Hashes
 * and signatures are computed again, so that the verifiers judge the mutations and not only a broken hash. `npm run fuzz:verifiers`
 * runs 100,000 inputs; `FUZZ_SEED` chooses others.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../../local/verify/main.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import { pythonMissing } from "../../tamper/verifiers.ts";
import { type FuzzWorld, fuzzWorld } from "./fuzz_world.ts";
import { type Input, makeInput } from "./inputs.ts";
import { type Judged, pythonVerifier } from "./python.ts";

const INPUTS = Number(process.env["FUZZ_INPUTS"] ?? 300);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
/** Number of inputs that are on disk at the same time. */
const BATCH = 100;

const folder = mkdtempSync(join(tmpdir(), "fuzz-verifiers-"));
afterAll(() => rmSync(folder, { recursive: true }));

let world: FuzzWorld;
beforeAll(async () => {
  world = await fuzzWorld();
  const pem = world.key.pem;
  writeFileSync(join(folder, "public.pem"), pem);
  // The same key with another end of its first line.
  writeFileSync(join(folder, "bent.pem"), pem.replace("\n", "\r\n"));
  writeFileSync(join(folder, "people.json"), [...world.manifests.values()][0]!);
});

/** Files that all inputs share. */
const SHARED: readonly string[] = ["public.pem", "bent.pem", "people.json"];

/** Writes the files of an input; returns its arguments with their paths. */
function writeInput({ files, args }: Input, index: number): string[] {
  const own = join(folder, String(index));
  mkdirSync(own, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(own, name), content);
  const toPath = (arg: string): string => {
    if (SHARED.includes(arg)) return join(folder, arg);
    return Object.hasOwn(files, arg) ? join(own, arg) : arg;
  };
  // The first word of a certificate's arguments is the command.
  return [...args.map((arg, at) => (at === 0 && arg === "certificate" ? arg : toPath(arg))), "--json"];
}

async function runTypescript(args: string[]): Promise<Judged> {
  let [stdout, stderr] = ["", ""];
  const status = await main(args, { out: (text) => (stdout += text), err: (text) => (stderr += text) });
  // With exit code 3, for unreadable input, there is no report.
  const rules = status > 2 ? [] : (JSON.parse(stdout) as { findings: { rule: string }[] }).findings;
  return { status, rules: rules.map(({ rule }) => rule), stderr };
}

test.skipIf(pythonMissing)(
  `both verifiers have the same exit codes for ${INPUTS} inputs (${pythonMissing ?? "python3 is here"})`,
  { timeout: 4 * 3_600_000 },
  async () => {
    const python = pythonVerifier();
    const below = seededIntegers(SEED);
    const exitCodeCounts = new Map<number, number>();
    const differing: string[] = [];
    let otherRules = 0;
    for (let done = 0; done < INPUTS; done += BATCH) {
      const inputs = Array.from({ length: Math.min(BATCH, INPUTS - done) }, () => makeInput(world, below));
      const calls = inputs.map(writeInput);
      const [inPython, here] = await Promise.all([python.judge(calls), Promise.all(calls.map(runTypescript))]);
      for (const [index, own] of here.entries()) {
        const other = inPython[index]!;
        exitCodeCounts.set(own.status, (exitCodeCounts.get(own.status) ?? 0) + 1);
        if (own.status === other.status && JSON.stringify(own.rules) !== JSON.stringify(other.rules)) {
          otherRules++;
          if (otherRules <= 10) keep(done + index, inputs[index]!, { own, other });
        }
        if (own.status !== other.status)
          differing.push(`input ${done + index}: ${keep(done + index, inputs[index]!, { own, other })}`);
      }
    }
    await python.end();
    process.stdout.write(
      `${INPUTS} inputs, seed ${SEED}: ${JSON.stringify(Object.fromEntries(exitCodeCounts))}, other exit codes: ${differing.length}, the same exit code with other rules: ${otherRules}\n`,
    );
    expect(differing).toEqual([]);
    // The run proves nothing unless every exit code occurs.
    if (INPUTS >= 300) expect([...exitCodeCounts.keys()].sort()).toEqual([0, 1, 2, 3]);
  },
);

/** Stores the input in the folder that FUZZ_KEEP names, if it is set; returns its arguments and both results as JSON. */
function keep(number: number, { files, args }: Input, results: object): string {
  const into = process.env["FUZZ_KEEP"];
  if (into !== undefined) {
    mkdirSync(join(into, String(number)), { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(into, String(number), name), content);
    writeFileSync(join(into, String(number), "results.json"), JSON.stringify({ args, ...results }));
  }
  return JSON.stringify({ args, ...results });
}
