/**
 * Damage of every kind to an export, before both offline verifiers. The full run, `npm run test:full -- test/tamper`, moves every
 * line and flips every bit of every entry; the long one moves some lines in each way, and flips the bits of three entries; the
 * short one does less of the same.
 */
import { beforeAll, expect, test, vi } from "vitest";
import { type Chain, verifyLine } from "../../local/verify/chain.ts";
import { ATTACKS, attackStore } from "./attacks.ts";
import { numbers } from "../support/numbers.ts";
import { FULL, rounds } from "../support/length.ts";
import { cut, DAMAGED, flipped, impossible, moved, rewritings } from "./damage.ts";
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

const verdictOf = async ({ log, kept }: Sample) => (await verify(log, kept)).verdict;

test("the log as it is: consistent alone, valid against what was kept, however the bytes arrive", async () => {
  expect(await verify(log)).toMatchObject({ verdict: "consistent", entries: 200, findings: [] });
  const checkpoint = { ...parseCheckpoint(world.note)!, description: "a checkpoint" };
  for (const kept of [makeReceipt(world.entries, 1), makeReceipt(world.entries, 200), checkpoint])
    for (const chunk of [7, 1000, 1 << 20])
      expect(await verify(log, [kept], chunk)).toMatchObject({ verdict: "valid" });
});

/** Lines come with six kinds of damage each: such a step leads to another kind than that of the sample before. */
const STEP = rounds(43, 13, 1);

test("a line removed, repeated, swapped or spliced in is found in the export alone, at its place", async () => {
  for (const sample of moved(world).filter((_, index) => index % STEP === 0)) {
    const report = await verify(sample.log);
    expect(report, sample.what).toMatchObject({ verdict: "bad" });
    const place = Number(/\d+/.exec(sample.what)![0]);
    expect(report.findings[0]!.line! - place, sample.what).toBeOneOf([0, 1]);
  }
});

test("every other writing of the same entries is refused, and what is no export is not judged", async () => {
  for (const sample of rewritings(world))
    expect(await verdictOf(sample), sample.what).toBe(DAMAGED.has(sample.what) ? "unreadable" : "bad");
});

test("a log that no service writes is refused, though every hash is right", async () => {
  for (const { what, rule, log } of impossible(world))
    expect((await verify(log)).findings, what).toMatchObject([{ line: 81, rule }]);
});

const lineEnds = () => [...log.keys()].filter((place) => log[place] === 10).map((place) => place + 1);

test("a cut within a line shows in the export; between lines only by what was stored outside", async () => {
  const ends = new Set(lineEnds());
  const places = [...Array(rounds(500, 1000, 30_000)).keys(), ...ends, ...[...ends].map((end) => end - 1)];
  for (const [index, sample] of cut(world, places, "nothing").entries()) {
    const clean = places[index] === 0 || ends.has(places[index]!);
    expect(await verdictOf(sample), sample.what).toBe(clean && places[index] !== 0 ? "consistent" : "unreadable");
  }
  for (const sample of cut(
    world,
    [...ends].filter((end) => end < log.length),
    "receipt",
  ))
    expect((await verify(sample.log, sample.kept)).findings.at(-1), sample.what).toMatchObject({
      rule: "tail_truncation",
    });
});

/** The chain as it stands before a line, so that the lines before it need not be read for each of its bits. */
function chainBefore(line: number): Chain {
  const last = world.entries[line - 2];
  const { origin } = world.entries[0]!;
  return {
    lines: line - 1,
    origin: last && origin,
    last: { id: line - 1, hash: last?.current_hash ?? "0".repeat(64), timestamp: last?.timestamp ?? "" },
  };
}

test("every flipped bit of an entry is found in the export alone", async () => {
  const ends = lineEnds();
  for (const number of FULL ? world.entries.map(({ id }) => id) : [1, 57, 200]) {
    const line = log.subarray(ends[number - 2] ?? 0, ends[number - 1]! - 1);
    for (let bit = 0; bit < line.length * 8; bit++) {
      const chain = chainBefore(number);
      const damaged = flipped(line, bit).toString("latin1").split("\n");
      if (!damaged.some((part) => verifyLine(chain, part)))
        expect.unreachable(`bit ${bit} of line ${number}: unnoticed`);
    }
    for (let bit = 0; bit < 8; bit++) {
      const report = await verify(flipped(log, (ends[number - 1]! - 1) * 8 + bit));
      expect(report.verdict, `bit ${bit} of the end of line ${number}`).toBeOneOf(["bad", "unreadable"]);
    }
  }
});

test("a sample of flipped bits is found in the whole export", async () => {
  const random = numbers(1);
  for (let i = 0; i < rounds(25, 50, 5000); i++) {
    const bit = random(log.length * 8);
    expect((await verify(flipped(log, bit))).verdict, `bit ${bit}`).toBeOneOf(["bad", "unreadable"]);
  }
});

/** Damage of each kind, with and without something kept outside. */
async function samples(): Promise<Sample[]> {
  const random = numbers(2);
  const some = (all: Sample[], count: number) => Array.from({ length: count }, () => all[random(all.length)]!);
  const kept = [
    makeReceipt(world.entries, 200),
    makeReceipt(world.entries, 60),
    { ...parseCheckpoint(world.note)!, description: "the last checkpoint" },
    { ...parseCheckpoint(makeCheckpoint(world.entries, 100))!, description: "an early checkpoint" },
    { length: 0, head: "0".repeat(64), description: "the receipt of entry 0" },
  ];
  const attacked = ATTACKS.map(async (attack) => {
    const damaged = Buffer.from(await exportLog(await attackStore(attack, world)));
    return [[], kept].map((kept) => ({ what: attack.what, log: damaged, kept }));
  });
  const bits = Array.from({ length: rounds(10, 40, 500) }, () => random(log.length * 8));
  return [
    ...(await Promise.all(attacked)).flat(),
    ...kept.map((one) => ({ what: one.description, log, kept: [one] })),
    ...some(moved(world), rounds(8, 20, 150)),
    ...rewritings(world),
    ...impossible(world),
    ...some(cut(world, [...log.keys()], "nothing"), rounds(5, 10, 50)),
    ...some(cut(world, lineEnds(), "receipt"), 5),
    ...bits.map((bit) => ({ what: `bit ${bit} flipped`, log: flipped(log, bit), kept: [kept[bit % 5]!] })),
  ];
}

test.skipIf(pythonMissing)(
  `verify_audit.py finds the same at the same lines (${pythonMissing ?? "python3 is here"})`,
  async () => {
    const all = await samples();
    const inPython = verifyInPython(all);
    expect(inPython).toHaveLength(all.length);
    for (const [index, sample] of all.entries())
      expect(inPython[index], sample.what).toEqual(summarizeReport(await verify(sample.log, sample.kept)));
  },
  300_000,
);

test("an export is read back as it was written", () => expect(write(parse(log.toString()))).toBe(log.toString()));
