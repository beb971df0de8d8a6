/** Checks a week's picture against the ledger: each point, mark and bar must stand where the ledger says, and no other. */
import { expect } from "vitest";
import type { Did } from "./ledger.ts";
import { reckonAt } from "./reckoning.ts";
import type { Held } from "./report_lines.ts";
import { INTENT } from "./who_and_what.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The month's first cycle ran in this week. */
const FIRST_WEEK = "2026-10-05";

interface Words {
  x: number;
  y: number;
  words: string;
  of: string | undefined;
  size: number;
}

/** What is drawn under one heading. */
interface Part {
  heading: string;
  texts: Words[];
  /** The other shapes as they stand, in order. */
  lines: string[];
}

const attribute = (line: string, name: string): string | undefined => new RegExp(` ${name}="([^"]*)"`).exec(line)?.[1];
const number = (line: string, name: string): number => Number(attribute(line, name));

/** A picture by its headings. */
export function partsOf(svg: string): Part[] {
  const parts: Part[] = [];
  for (const line of svg.split("\n")) {
    if (line.startsWith("<text")) {
      const words = />([^<]*)<\/text>$/.exec(line)![1]!;
      const size = number(line, "font-size");
      if (size === 14) parts.push({ heading: words, texts: [], lines: [] });
      else
        parts.at(-1)?.texts.push({
          x: number(line, "x"),
          y: number(line, "y"),
          words,
          of: attribute(line, "data-change"),
          size,
        });
    } else parts.at(-1)?.lines.push(line);
  }
  return parts;
}

/** Where the bottom line begins and ends is where the eight weeks do. */
function placer({ lines }: Part, to: string): { from: number; xOf: (at: number) => number } {
  const [, left, right] = lines
    .map((line) => /^<path d="M(\d+) [\d.]+H(\d+)" class="stroke line"/.exec(line)!)
    .find(Boolean)!;
  const end = Date.parse(to) + DAY_MS;
  const from = end - 8 * WEEK_MS;
  return { from, xOf: (at) => Number(left) + ((at - from) / (end - from)) * (Number(right) - Number(left)) };
}

const near = (told: number, expected: number, what: string): void =>
  expect(Math.abs(told - expected), `${what}: drawn at ${told}, expected at ${expected}`).toBeLessThan(0.11);

const minute = (at: number | string): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** A KPI's steps and target, and the marks of what was applied and rolled back. */
function checkKpi(part: Part, kpi: keyof typeof INTENT.kpis, { ledger, now, to }: Held): void {
  const { from, xOf } = placer(part, to);
  const end = Date.parse(to) + DAY_MS;
  const feeds = now.acts.filter(
    ({ did, values, at }) => did === "fed" && values![kpi] !== undefined && Date.parse(at) < end,
  );
  // Of a day on which it was fed twice the last value stands.
  const byDay = new Map(feeds.map(({ at, values }) => [at.slice(0, 10), { at, value: values![kpi]! }]));
  const fed = [...byDay.values()];
  const { target } = INTENT.kpis[kpi];
  expect(part.heading).toBe(`${kpi}: ${fed.at(-1)!.value}, target ${target}`);

  const [low, high] = part.texts
    .filter(({ x, words }) => x < 80 && words !== "")
    .map(({ y, words }) => ({ y: y - 4, value: Number(words) }));
  expect([low!.value, high!.value]).toEqual([
    Math.min(target, ...fed.map(({ value }) => value)),
    Math.max(target, ...fed.map(({ value }) => value)),
  ]);
  expect(high!.y, "what is more stands higher").toBeLessThan(low!.y);
  const yOf = (value: number) => low!.y + ((value - low!.value) / (high!.value - low!.value)) * (high!.y - low!.y);
  const points = part.lines.filter((line) => line.startsWith("<circle"));
  expect(points.map((line) => /<title>([^<]*)</.exec(line)![1])).toEqual(
    fed.map(({ at, value }) => `${minute(at)}: ${value}`),
  );
  for (const [index, { at, value }] of fed.entries()) {
    near(number(points[index]!, "cx"), xOf(Date.parse(at)), `${kpi} of ${at}`);
    near(number(points[index]!, "cy"), yOf(value), `${kpi} of ${at}`);
  }
  const line = attribute(
    part.lines.find((one) => one.includes('class="stroke accent"'))!,
    "d",
  )!;
  const corners = points.map((one, index) => {
    const [x, y] = [attribute(one, "cx"), attribute(one, "cy")];
    return index === 0 ? `M${x} ${y}` : `H${x}V${y}`;
  });
  expect(line, "the line goes from point to point").toBe(corners.join(""));
  near(
    Number(/M\d+ ([\d.]+)H/.exec(part.lines.find((one) => one.includes('class="stroke good"'))!)![1]),
    yOf(target),
    "target",
  );

  const marked: readonly Did[] = ["applied", "rolled_back"];
  const acts = now.acts.filter(
    ({ did, change, at }) =>
      marked.includes(did) &&
      ledger.changes.get(change!)?.kpi === kpi &&
      Date.parse(at) >= from &&
      Date.parse(at) < end,
  );
  const told = part.texts.filter(({ of }) => of !== undefined);
  expect(told.map(({ words, of }) => [of, words]).sort()).toEqual(
    acts
      .map(({ did, change, at }) => {
        const { id, target: where, tenant } = ledger.changes.get(change!)!;
        return [id, `${where} of ${tenant}, ${did.replace("_", " ")} ${minute(at)}`];
      })
      .sort(),
  );
  const uprights = part.lines.filter((one) => one.includes('stroke-dasharray="2 2"'));
  expect(uprights).toHaveLength(acts.length);
  for (const [index, { at, did }] of acts.entries()) {
    near(Number(/M([\d.]+) /.exec(uprights[index]!)![1]), xOf(Date.parse(at)), `the mark of ${at}`);
    expect(uprights.filter((one) => one.includes(did === "applied" ? "stroke muted" : "stroke bad")).length).toBe(
      acts.filter((one) => one.did === did).length,
    );
  }
}

/** The bars of a part, each with the week that it stands in and its height. */
function barsOf(part: Part, to: string): { week: number; up: boolean; height: number }[] {
  const { from, xOf } = placer(part, to);
  const zero = Number(/M\d+ ([\d.]+)H/.exec(part.lines.find((one) => one.includes('class="stroke'))!)![1]);
  return part.lines.flatMap((line) => {
    const [, x, y, width, height] = /d="M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+Z"/.exec(line) ?? [];
    if (x === undefined) return [];
    const middle = Number(x) + Number(width) / 2;
    const week = Array.from({ length: 8 }, (_, one) => xOf(from + (one + 0.5) * WEEK_MS)).findIndex(
      (at) => Math.abs(at - middle) < 0.2,
    );
    return [{ week, up: Number(y) < zero, height: Number(height) }];
  });
}

const weeksUpTo = (to: string): { from: string; to: string }[] =>
  Array.from({ length: 8 }, (_, week) => {
    const end = Date.parse(to) - (7 - week) * WEEK_MS;
    return {
      from: new Date(end - 6 * DAY_MS).toISOString().slice(0, 10),
      to: new Date(end).toISOString().slice(0, 10),
    };
  });

function checkPromises(part: Part, { now, to }: Held): void {
  const counts = weeksUpTo(to).map((week) => {
    const verdicts = now.known.flatMap(({ name }) => {
      const closed = now.closedAt(name)?.slice(0, 10) ?? "";
      return closed >= week.from && closed <= week.to ? (now.outcomeOf(name)?.verdict ?? []) : [];
    });
    return {
      kept: verdicts.filter((one) => one === "met").length,
      broken: verdicts.filter((one) => one === "missed" || one === "regressed").length,
    };
  });
  const most = Math.max(1, ...counts.flatMap(({ kept, broken }) => [kept, broken]));
  const expected = counts.flatMap(({ kept, broken }, week) => [
    ...(kept > 0 ? [{ week, up: true, count: kept }] : []),
    ...(broken > 0 ? [{ week, up: false, count: broken }] : []),
  ]);
  const bars = barsOf(part, to);
  expect(bars.map(({ week, up }) => ({ week, up }))).toEqual(expected.map(({ week, up }) => ({ week, up })));
  for (const [index, { count }] of expected.entries())
    near(bars[index]!.height, (count / most) * 34, "a bar of promises");
  expect(part.texts.flatMap(({ words }) => (/^\d+$/.test(words) ? [Number(words)] : []))).toEqual(
    expected.map(({ count }) => count),
  );
}

function checkNeed(part: Part, { ledger, now, to }: Held): void {
  const expected = weeksUpTo(to).map((week) => {
    if (week.from < FIRST_WEEK) return null;
    const last = `${week.to}T23:50:00.000Z`;
    return reckonAt(ledger, last < now.at ? last : now.at).need().value;
  });
  const told = part.texts.flatMap(({ words }) => (words === "–" ? [null] : /^\d\.\d{3}$/.test(words) ? [words] : []));
  expect(told).toEqual(expected.map((need) => need && need.toFixed(3)).map((need) => (need === 0 ? "0.000" : need)));
  const high = expected.flatMap((need, week) => (need ? [{ week, need }] : []));
  const bars = barsOf(part, to);
  expect(bars.map(({ week }) => week)).toEqual(high.map(({ week }) => week));
  for (const [index, { need }] of high.entries()) near(bars[index]!.height, need * 68, "a bar of need");
}

/** Holds all of a picture against the ledger. */
export function checkPicture(svg: string, held: Held): void {
  const parts = partsOf(svg);
  const end = `${held.to}T23:59:59.999Z`;
  const kpis = (Object.keys(INTENT.kpis) as (keyof typeof INTENT.kpis)[])
    .filter((kpi) => held.now.fedBy(kpi, end))
    .sort();
  expect(parts.map(({ heading }) => heading.replace(/:.*/, ""))).toEqual([
    ...kpis,
    "Promises, by the week in which their verdict became final",
    "N, need, at the end of each week",
  ]);
  for (const [index, kpi] of kpis.entries()) checkKpi(parts[index]!, kpi, held);
  checkPromises(parts.at(-2)!, held);
  checkNeed(parts.at(-1)!, held);
}
