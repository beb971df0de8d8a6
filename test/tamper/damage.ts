/** Damaged exports: lines moved, bytes cut off, bits flipped, entries written in another form. */
import { gzipSync } from "node:zlib";
import type { LogState } from "../../local/verify/evidence.ts";
import type { Sample } from "./verifiers.ts";
import { makeReceipt, rehashed, type World, write } from "./world.ts";

/** Returns the export with one bit flipped. */
export function flipped(log: Buffer, bit: number): Buffer {
  const copy = Buffer.from(log);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

/** Lists exports with a line removed, repeated, swapped or taken from another log; each is detectable in the export alone. */
export function moveLines({ entries, other }: World): Sample[] {
  const lines = entries.map((entry) => write([entry]));
  const foreign = other.map((entry) => write([entry]));
  // Samples are built on access: there are many, and most tests use a few.
  const sample = (title: string, damage: () => string[]): Sample => ({
    title,
    get log() {
      return Buffer.from(damage().join(""));
    },
    evidence: [],
  });
  return lines.flatMap((line, index) => {
    const next = lines[index + 1];
    return [
      ...(next === undefined ? [] : [sample(`line ${index + 1} removed`, () => lines.toSpliced(index, 1))]),
      sample(`line ${index + 1} repeated`, () => lines.toSpliced(index, 0, line)),
      ...(next === undefined
        ? []
        : [sample(`lines ${index + 1} and ${index + 2} swapped`, () => lines.toSpliced(index, 2, next, line))]),
      sample(`line ${index + 1} of another log`, () => lines.with(index, foreign[index]!)),
      sample(`a line of another log behind line ${index + 1}`, () => lines.toSpliced(index + 1, 0, foreign[index]!)),
      ...(next === undefined
        ? []
        : [
            sample(`the other log from line ${index + 2} on`, () => [
              ...lines.slice(0, index + 1),
              ...foreign.slice(index + 1),
            ]),
          ]),
    ];
  });
}

/** Lists exports cut off after each of the given numbers of bytes, with the last receipt or nothing to verify against. */
export function cutExport({ entries }: World, lengths: readonly number[], reference: "receipt" | "nothing"): Sample[] {
  const log = Buffer.from(write(entries));
  const evidence: LogState[] = reference === "receipt" ? [makeReceipt(entries, entries.length)] : [];
  return lengths.map((length) => ({
    title: `cut off after byte ${length}`,
    log: log.subarray(0, length),
    evidence,
  }));
}

/** Lists logs with correct hashes that break another rule of the format, at line 81 (index 80). */
export function makeInvalidLogs({ entries }: World): (Sample & { rule: string })[] {
  const withEdit = (title: string, rule: string, fields: Partial<(typeof entries)[number]>) => {
    const log = write(rehashed(entries.with(80, { ...entries[80]!, ...fields }), 80));
    return { title, rule, log: Buffer.from(log), evidence: [] };
  };
  return [
    withEdit("a time before that of the previous entry", "timestamp", { timestamp: "2025-12-31T23:59:59.999Z" }),
    { title: "an id skipped", rule: "id", log: Buffer.from(write(rehashed(entries, 80, 1))), evidence: [] },
    withEdit("an entry that names another log", "origin", { origin: `${entries[80]!.origin}0` }),
  ];
}

/** Rewritings from the list below that make the file unreadable as an export. */
export const UNREADABLE_REWRITINGS: ReadonlySet<string> = new Set([
  "a space before the first member",
  "members in another order",
  "a carriage return",
  "a byte-order mark",
  "an empty line",
  "no object",
  "a deep nesting",
  "nothing but an empty line",
  "nothing at all",
  "a page",
  "an error",
  "compressed",
  "the last line break removed",
  "carriage returns throughout",
]);

/** Lists exports whose first entry is written in another form, mostly one that JSON parsers treat as equal. */
export function rewritings({ entries }: World): Sample[] {
  const line = JSON.stringify(entries[0]);
  const rest = write(entries.slice(1));
  const withFirstLine = (title: string, first: string): Sample => ({
    title,
    log: Buffer.from(`${first}\n${rest}`),
    evidence: [],
  });
  return [
    withFirstLine("a space before the first member", line.replace("{", "{ ")),
    withFirstLine("a space between members", line.replace('","id":', '", "id":')),
    withFirstLine("members in another order", line.replace(/^\{("origin":"[^"]*"),("id":1)/, "{$2,$1")),
    withFirstLine("a repeated member", line.replace('"id":1', '"id":1,"id":1')),
    withFirstLine("an additional member", line.replace(/\}$/, ',"note":""}')),
    withFirstLine("a missing member", line.replace(/"tenant":"[^"]*",/, "")),
    withFirstLine("a number in another form", line.replace('"id":1', '"id":1.0')),
    withFirstLine("a number as text", line.replace('"id":1', '"id":"1"')),
    withFirstLine("a letter escaped", line.replace('"timestamp":"2', '"timestamp":"\\u0032')),
    withFirstLine("a slash escaped", line.replace("acme-crm/audit", "acme-crm\\/audit")),
    withFirstLine("a lone surrogate", line.replace('"tenant":"', '"tenant":"\\ud800')),
    withFirstLine(
      "upper-case hex",
      line.replace(/[0-9a-f]{64}"\}$/, (hash) => hash.slice(0, 64).toUpperCase() + '"}'),
    ),
    withFirstLine("a time in another zone", line.replace(/Z","event_type/, '+00:00","event_type')),
    withFirstLine("a carriage return", `${line}\r`),
    withFirstLine("a byte-order mark", `\ufeff${line}`),
    withFirstLine("an empty line", `${line}\n`),
    withFirstLine("no object", "[]"),
    withFirstLine("a deep nesting", "[".repeat(100_000)),
    {
      title: "bytes that are not UTF-8",
      log: Buffer.concat([
        Buffer.from(line.slice(0, 20)),
        Buffer.of(0xff),
        Buffer.from(line.slice(20)),
        Buffer.from(`\n${rest}`),
      ]),
      evidence: [],
    },
    { title: "nothing but an empty line", log: Buffer.from("\n"), evidence: [] },
    { title: "nothing at all", log: Buffer.alloc(0), evidence: [] },
    { title: "a page", log: Buffer.from("<!DOCTYPE html>\n<html></html>\n"), evidence: [] },
    { title: "an error", log: Buffer.from('{"error":"unauthorized","code":"unauthorized"}'), evidence: [] },
    { title: "compressed", log: gzipSync(`${line}\n${rest}`), evidence: [] },
    { title: "the last line break removed", log: Buffer.from(`${line}\n${rest}`.slice(0, -1)), evidence: [] },
    {
      title: "carriage returns throughout",
      log: Buffer.from(`${line}\n${rest}`.replaceAll("\n", "\r\n")),
      evidence: [],
    },
    withFirstLine("a line separator that is not escaped", line.replace('"tenant":"', '"tenant":"\u2028')),
    withFirstLine("a line that is too long", line.replace('"tenant":"', `"tenant":"${"x".repeat(16 * 1024 * 1024)}`)),
  ];
}
