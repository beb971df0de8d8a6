/**
 * Both offline verifiers detect every kind of damage to an export. The full run, `npm run test:full -- test/tamper`, moves every
 * line and flips every bit of every entry. The long run moves some lines in each way, and flips the bits of three entries; the
 * short run uses fewer samples.
 */
import { beforeAll, expect, test, vi } from "vitest";
import { type Chain, verifyLine } from "../../local/verify/chain.ts";
import { ATTACKS, attackStore } from "./attacks.ts";
import { seededIntegers } from "../support/seeded_integers.ts";
import { FULL, rounds } from "../support/run_length.ts";
import { cutExport, flipped, makeInvalidLogs, moveLines, rewritings, UNREADABLE_REWRITINGS } from "./damage.ts";
import { exportLog } from "./real_log.ts";
import { summarizeReport, pythonMissing, type Sample, verify, verifyInPython } from "./verifiers.ts";
import { makeCheckpoint, makeWorld, parse, makeReceipt, type World, write } from "./world.ts";
import { parseCheckpoint } from "../../local/verify/note.ts";

vi.setConfig({ testTimeout: 300_000 });

let world: World;
let log: Buffer;
beforeAll(async () => {
  world = await makeWorld();
  log = Buffer.from(write(world.entries));
});

const verifySample = async ({ log, evidence }: Sample) => (await verify(log, evidence)).verdict;

test("an intact log is consistent alone and valid against receipts, in chunks of any size", async () => {
  expect(await verify(log)).toMatchObject({ verdict: "consistent", entries: 200, findings: [] });
  const checkpoint = { ...parseCheckpoint(world.note)!, description: "a checkpoint" };
  for (const evidence of [makeReceipt(world.entries, 1), makeReceipt(world.entries, 200), checkpoint])
    for (const chunk of [7, 1000, 1 << 20])
      expect(await verify(log, [evidence], chunk)).toMatchObject({ verdict: "valid" });
});

/** Each line has six kinds of damage; this step size makes consecutive samples differ in kind. */
const STEP = rounds(43, 13, 1);

test("a line removed, repeated, swapped or inserted is found, at its line number", async () => {
  for (const sample of moveLines(world).filter((_, index) => index % STEP === 0)) {
    const report = await verify(sample.log);
    expect(report, sample.title).toMatchObject({ verdict: "bad" });
    const line = Number(/\d+/.exec(sample.title)![0]);
    // Some kinds of damage show only at the next line.
    expect(report.findings[0]!.line! - line, sample.title).toBeOneOf([0, 1]);
  }
});

test("another form of the same entries is bad, and a file that is not an export is unreadable", async () => {
  for (const sample of rewritings(world))
    expect(await verifySample(sample), sample.title).toBe(
      UNREADABLE_REWRITINGS.has(sample.title) ? "unreadable" : "bad",
    );
});

test("a log with correct hashes that breaks another rule is reported at its line", async () => {
  // `makeInvalidLogs` damages line 81.
  for (const { title, rule, log } of makeInvalidLogs(world))
    expect((await verify(log)).findings, title).toMatchObject([{ line: 81, rule }]);
});

const lineEnds = () => [...log.keys()].filter((offset) => log[offset] === 10).map((offset) => offset + 1);

test("a cut within a line or to 0 bytes is unreadable; one between lines needs a receipt", async () => {
  const ends = new Set(lineEnds());
  // The first lengths from 0, the end of each line, and one byte before each end.
  const lengths = [...Array(rounds(500, 1000, 30_000)).keys(), ...ends, ...[...ends].map((end) => end - 1)];
  for (const [index, sample] of cutExport(world, lengths, "nothing").entries()) {
    const isBetweenLines = ends.has(lengths[index]!);
    expect(await verifySample(sample), sample.title).toBe(isBetweenLines ? "consistent" : "unreadable");
  }
  for (const sample of cutExport(
    world,
    [...ends].filter((end) => end < log.length),
    "receipt",
  ))
    expect((await verify(sample.log, sample.evidence)).findings.at(-1), sample.title).toMatchObject({
      rule: "tail_truncation",
    });
});

/** Returns the verifier's state before a line, so that each bit of the line can be tested without reading the lines before. */
function chainBefore(line: number): Chain {
  const last = world.entries[line - 2];
  const { origin } = world.entries[0]!;
  return {
    lines: line - 1,
    origin: last && origin,
    last: { id: line - 1, hash: last?.current_hash ?? "0".repeat(64), timestamp: last?.timestamp ?? "" },
  };
}

test("every flipped bit of an entry is found by the check of its line", async () => {
  const ends = lineEnds();
  for (const number of FULL ? world.entries.map(({ id }) => id) : [1, 57, 200]) {
    const line = log.subarray(ends[number - 2] ?? 0, ends[number - 1]! - 1);
    for (let bit = 0; bit < line.length * 8; bit++) {
      const chain = chainBefore(number);
      const damaged = flipped(line, bit).toString("latin1").split("\n");
      if (!damaged.some((part) => verifyLine(chain, part)))
        expect.unreachable(`bit ${bit} of line ${number}: not found`);
    }
    for (let bit = 0; bit < 8; bit++) {
      const report = await verify(flipped(log, (ends[number - 1]! - 1) * 8 + bit));
      expect(report.verdict, `bit ${bit} of the end of line ${number}`).toBeOneOf(["bad", "unreadable"]);
    }
  }
});

test("random flipped bits are found in the complete export", async () => {
  const random = seededIntegers(1);
  for (let count = 0; count < rounds(25, 50, 5000); count++) {
    const bit = random(log.length * 8);
    expect((await verify(flipped(log, bit))).verdict, `bit ${bit}`).toBeOneOf(["bad", "unreadable"]);
  }
});

/** Makes samples of each kind of damage, with and without receipts and checkpoints. */
async function makeSamples(): Promise<Sample[]> {
  const random = seededIntegers(2);
  const pickSome = (all: Sample[], count: number) => Array.from({ length: count }, () => all[random(all.length)]!);
  const evidence = [
    makeReceipt(world.entries, 200),
    makeReceipt(world.entries, 60),
    { ...parseCheckpoint(world.note)!, description: "the last checkpoint" },
    { ...parseCheckpoint(makeCheckpoint(world.entries, 100))!, description: "an early checkpoint" },
    { length: 0, head: "0".repeat(64), description: "the receipt of entry 0" },
  ];
  const attacked = ATTACKS.map(async (attack) => {
    const damaged = Buffer.from(await exportLog(await attackStore(attack, world)));
    return [[], evidence].map((evidence) => ({ title: attack.title, log: damaged, evidence }));
  });
  const bits = Array.from({ length: rounds(10, 40, 500) }, () => random(log.length * 8));
  return [
    ...(await Promise.all(attacked)).flat(),
    ...evidence.map((evidenceItem) => ({ title: evidenceItem.description, log, evidence: [evidenceItem] })),
    ...pickSome(moveLines(world), rounds(8, 20, 150)),
    ...rewritings(world),
    ...makeInvalidLogs(world),
    ...pickSome(cutExport(world, [...log.keys()], "nothing"), rounds(5, 10, 50)),
    ...pickSome(cutExport(world, lineEnds(), "receipt"), 5),
    ...bits.map((bit) => ({ title: `bit ${bit} flipped`, log: flipped(log, bit), evidence: [evidence[bit % 5]!] })),
  ];
}

test.skipIf(pythonMissing)(
  `verify_audit.py finds the same at the same lines (${pythonMissing ?? "python3 is here"})`,
  async () => {
    const all = await makeSamples();
    const inPython = verifyInPython(all);
    expect(inPython).toHaveLength(all.length);
    for (const [index, sample] of all.entries())
      expect(inPython[index], sample.title).toEqual(summarizeReport(await verify(sample.log, sample.evidence)));
  },
  300_000,
);

test("parsing and writing an export returns the same bytes", () =>
  expect(write(parse(log.toString()))).toBe(log.toString()));
