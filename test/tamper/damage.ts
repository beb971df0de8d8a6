/** Damage to an export, without regard to what it means: lines moved, bytes cut, bits flipped. */
import { gzipSync } from "node:zlib";
import type { LogState } from "../../local/verify/evidence.ts";
import type { Sample } from "./verifiers.ts";
import { makeReceipt, rehashed, type World, write } from "./world.ts";

/** The export with one bit flipped. */
export function flipped(log: Buffer, bit: number): Buffer {
  const copy = Buffer.from(log);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

/** Every removal, repetition, neighbours swapped and splice from another log; each must show in the export alone. */
export function moved({ entries, other }: World): Sample[] {
  const lines = entries.map((entry) => write([entry]));
  const strange = other.map((entry) => write([entry]));
  // Made when it is asked for: there are many, and most tests want a few.
  const sample = (what: string, damaged: () => string[]): Sample => ({
    what,
    get log() {
      return Buffer.from(damaged().join(""));
    },
    kept: [],
  });
  return lines.flatMap((line, i) => {
    const next = lines[i + 1];
    return [
      ...(next === undefined ? [] : [sample(`line ${i + 1} removed`, () => lines.toSpliced(i, 1))]),
      sample(`line ${i + 1} repeated`, () => lines.toSpliced(i, 0, line)),
      ...(next === undefined
        ? []
        : [sample(`lines ${i + 1} and ${i + 2} swapped`, () => lines.toSpliced(i, 2, next, line))]),
      sample(`line ${i + 1} of another log`, () => lines.with(i, strange[i]!)),
      sample(`a line of another log behind line ${i + 1}`, () => lines.toSpliced(i + 1, 0, strange[i]!)),
      ...(next === undefined
        ? []
        : [sample(`the other log from line ${i + 2} on`, () => [...lines.slice(0, i + 1), ...strange.slice(i + 1)])]),
    ];
  });
}

/** The export cut behind each of the given bytes; what is kept is the last receipt, or nothing. */
export function cut({ entries }: World, places: readonly number[], kept: "receipt" | "nothing"): Sample[] {
  const log = Buffer.from(write(entries));
  const evidence: LogState[] = kept === "receipt" ? [makeReceipt(entries, entries.length)] : [];
  return places.map((place) => ({ what: `cut behind byte ${place}`, log: log.subarray(0, place), kept: evidence }));
}

/** Logs whose every hash is right, and that no service writes. */
export function impossible({ entries }: World): (Sample & { rule: string })[] {
  const edited = (what: string, rule: string, over: Partial<(typeof entries)[number]>) => {
    const log = write(rehashed(entries.with(80, { ...entries[80]!, ...over }), 80));
    return { what, rule, log: Buffer.from(log), kept: [] };
  };
  return [
    edited("a time before that of the entry before", "timestamp", { timestamp: "2025-12-31T23:59:59.999Z" }),
    { what: "a number left out", rule: "id", log: Buffer.from(write(rehashed(entries, 80, 1))), kept: [] },
    edited("an entry that names another log", "origin", { origin: `${entries[80]!.origin}0` }),
  ];
}

/** Edits from the list below that show that the file is not what the service sent. */
export const DAMAGED: ReadonlySet<string> = new Set([
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

/** Other writings of the same entries: JSON would take them for equal. */
export function rewritings({ entries }: World): Sample[] {
  const line = JSON.stringify(entries[0]);
  const rest = write(entries.slice(1));
  const other = (what: string, first: string): Sample => ({ what, log: Buffer.from(`${first}\n${rest}`), kept: [] });
  return [
    other("a space before the first member", line.replace("{", "{ ")),
    other("a space between members", line.replace('","id":', '", "id":')),
    other("members in another order", line.replace(/^\{("origin":"[^"]*"),("id":1)/, "{$2,$1")),
    other("a repeated member", line.replace('"id":1', '"id":1,"id":1')),
    other("a member more", line.replace(/\}$/, ',"note":""}')),
    other("a member less", line.replace(/"tenant":"[^"]*",/, "")),
    other("a number in another form", line.replace('"id":1', '"id":1.0')),
    other("a number as text", line.replace('"id":1', '"id":"1"')),
    other("a letter escaped", line.replace('"timestamp":"2', '"timestamp":"\\u0032')),
    other("a slash escaped", line.replace("acme-crm/audit", "acme-crm\\/audit")),
    other("a lone surrogate", line.replace('"tenant":"', '"tenant":"\\ud800')),
    other(
      "upper-case hex",
      line.replace(/[0-9a-f]{64}"\}$/, (hash) => hash.slice(0, 64).toUpperCase() + '"}'),
    ),
    other("a time in another zone", line.replace(/Z","event_type/, '+00:00","event_type')),
    other("a carriage return", `${line}\r`),
    other("a byte-order mark", `\ufeff${line}`),
    other("an empty line", `${line}\n`),
    other("no object", "[]"),
    other("a deep nesting", "[".repeat(100_000)),
    {
      what: "bytes that are not UTF-8",
      log: Buffer.concat([
        Buffer.from(line.slice(0, 20)),
        Buffer.of(0xff),
        Buffer.from(line.slice(20)),
        Buffer.from(`\n${rest}`),
      ]),
      kept: [],
    },
    { what: "nothing but an empty line", log: Buffer.from("\n"), kept: [] },
    { what: "nothing at all", log: Buffer.alloc(0), kept: [] },
    { what: "a page", log: Buffer.from("<!DOCTYPE html>\n<html></html>\n"), kept: [] },
    { what: "an error", log: Buffer.from('{"error":"unauthorized","code":"unauthorized"}'), kept: [] },
    { what: "compressed", log: gzipSync(`${line}\n${rest}`), kept: [] },
    { what: "the last line break removed", log: Buffer.from(`${line}\n${rest}`.slice(0, -1)), kept: [] },
    { what: "carriage returns throughout", log: Buffer.from(`${line}\n${rest}`.replaceAll("\n", "\r\n")), kept: [] },
    other("a line separator that is not escaped", line.replace('"tenant":"', '"tenant":"\u2028')),
    other("a line that is too long", line.replace('"tenant":"', `"tenant":"${"x".repeat(16 * 1024 * 1024)}`)),
  ];
}
