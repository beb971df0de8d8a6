/**
 * node test/mutants/run.mjs [--short | --only TEXT]: plants known faults in a copy of the sources, one at a time, and runs
 * the tests nearest to each. A fault that no test notices survives; it needs a test. `--short`: the gravest only. `--only`:
 * those whose name, room or file has the text. Exit code 1: a fault survived or cannot be planted, or a test fails without
 * any; 2: wrongly called.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FAULTS } from "./list.mjs";
import { whyStale } from "./runner/plant.mjs";
import { runTests } from "./runner/suite.mjs";
import { copyTree } from "./runner/tree.mjs";

const root = join(import.meta.dirname, "../..");
const LANES = 2;
const say = (line) => process.stdout.write(`${line}\n`);

const chosen = choose();
const problems = [...repeated(), ...stale()];
const trees = Array.from({ length: LANES }, () => copyTree(root));
process.once("exit", () => trees.forEach(({ remove }) => remove()));
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    say(`stopped by ${signal}`);
    process.exit(1);
  });

const sound = await withoutFault();
const { survivors, noticed } = sound ? await withEach() : { survivors: [], noticed: 0 };
tell();
process.exit(noticed === chosen.length && problems.length === 0 ? 0 : 1);

function choose() {
  try {
    const { values } = parseArgs({ options: { short: { type: "boolean" }, only: { type: "string" } } });
    const { short = false, only } = values;
    const fits = ({ name, room, file }) => only === undefined || `${room}\n${file}\n${name}`.includes(only);
    const faults = FAULTS.filter((fault) => (!short || fault.grave) && fits(fault));
    if (faults.length > 0) return faults;
    throw new Error(`no fault has "${only}" in its name, room or file`);
  } catch (error) {
    process.stderr.write(`mutants: ${error.message}\n`);
    return process.exit(2);
  }
}

/** Names are how faults are spoken of. */
function repeated() {
  const names = FAULTS.map(({ name }) => name);
  return names.filter((name, index) => names.indexOf(name) < index).map((name) => `two faults are called "${name}"`);
}

/** All are looked at, whatever is chosen: a place that moved is best mended by who moved it. */
function stale() {
  return FAULTS.flatMap((fault) => {
    const reason = whyStale(root, fault);
    if (reason === undefined) return [];
    const index = chosen.indexOf(fault);
    if (index !== -1) chosen.splice(index, 1);
    return [`stale: "${fault.name}" in test/mutants/${fault.room}.mjs: ${reason}`];
  });
}

/** What fails anyway notices nothing: first every test that counts is run on the sources as they are. */
async function withoutFault() {
  const whole = new Set(chosen.filter(({ only }) => only === undefined).flatMap(({ tests }) => tests));
  const parts = new Map(
    chosen.flatMap(({ only, tests }) => (only === undefined ? [] : [[`${only} ${tests}`, { only, tests }]])),
  );
  const halves = trees.map((_, lane) => ({ tests: [...whole].filter((_, index) => index % LANES === lane) }));
  const jobs = [...halves.filter(({ tests }) => tests.length > 0), ...parts.values()];
  let sound = true;
  await eachInALane(jobs, async (job, tree) => {
    const { outcome, failed = [], reason } = await runTests(tree, { ...job, bail: 0 });
    if (outcome === "passed") return;
    sound = false;
    say(`${outcome} without any fault: ${job.tests.join(" ")}${job.only ? ` (${job.only})` : ""}`);
    for (const line of reason === undefined ? failed : [reason]) say(`  ${line}`);
  });
  if (sound) say(`${whole.size + parts.size} test files pass without any fault`);
  return sound;
}

/** How many were noticed, and those that were not. */
async function withEach() {
  const survivors = [];
  let noticed = 0;
  await eachInALane(chosen, async (fault, tree) => {
    const { tests, only, room, name } = fault;
    const { outcome, failed, seconds, reason } = await tree.withFault(fault, () =>
      runTests(tree, { tests, only, bail: 1 }),
    );
    if (outcome === "passed") survivors.push(fault);
    else if (outcome === "unclear") problems.push(`unclear: with "${name}" vitest failed, and no test did: ${reason}`);
    else noticed++;
    const word = { passed: "SURVIVED", failed: "caught", hung: "caught", unclear: "UNCLEAR" }[outcome];
    const by = { failed: `  <- ${failed?.[0]}`, hung: "  <- it hangs" }[outcome] ?? "";
    say(`${word.padEnd(8)} ${seconds.toFixed(1).padStart(5)} s  ${room}: ${name}${by}`);
  });
  return { survivors, noticed };
}

async function eachInALane(jobs, run) {
  const queue = [...jobs];
  await Promise.all(
    trees.map(async (tree) => {
      for (let job = queue.shift(); job; job = queue.shift()) await run(job, tree);
    }),
  );
}

function tell() {
  for (const problem of problems) say(problem);
  for (const { name, file, tests } of survivors)
    say(
      `survived: "${name}" in ${file}; nothing in ${tests.join(", ")} noticed it. A test of that behaviour is missing.`,
    );
  if (sound) say(`${noticed} of ${chosen.length} faults noticed`);
}
