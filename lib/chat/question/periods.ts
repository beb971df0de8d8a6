/** The days that a question speaks of, in English and Chinese; all in UTC, weeks from Monday to Sunday. */
import { DAY_MS } from "../../kit/days.ts";
import type { Span } from "./calendar.ts";
import { FORMS } from "./day_forms.ts";

/** From a moment on and before another, RFC 3339. */
export interface Period {
  from?: string;
  to?: string;
}

/** Where in the question which days are named; `isAhead`: of these days what is to come is asked. */
export interface FoundPeriod extends Period {
  isAhead: boolean;
  at: number;
  length: number;
}

interface FoundSpan extends Span {
  at: number;
  length: number;
}

/** Words of what is to come. */
const AHEAD =
  /\b(?:will|due|expires?|expiring|lapses?|deadlines?|going to|upcoming|run(?:s|ning)? out|com(?:e|es|ing) up|must|have to|has to|next|end of|rest of|later this)\b|\bby (?:the )?(?=end|next|tomorrow|today|\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|会(?![议员话])|将|快|(?<![需重主只])要(?![求])|截止|[周月年][末底]之?前|最晚|最迟|必须|接下来|未来/;

/** The days that a text in lower case names, in order; two that are joined are one period. */
export function periodsIn(text: string, now: number): FoundPeriod[] {
  const ahead = AHEAD.test(text) && !/\bdid\b/.test(text);
  const isAhead = ({ from, to }: Period): boolean =>
    Date.parse(from ?? "") > now || ((ahead || from === undefined) && Date.parse(to ?? "") > now);
  return periodsOf(text, spansIn(text, now, ahead)).map((period) => ({ ...period, isAhead: isAhead(period) }));
}

type Placed = Omit<FoundPeriod, "isAhead">;

function periodsOf(text: string, spans: readonly FoundSpan[]): Placed[] {
  const periods: Placed[] = [];
  for (let index = 0; index < spans.length; index++) {
    const first = spans[index]!;
    const second = spans[index + 1];
    const between = second && text.slice(first.at + first.length, second.at);
    if (second && isJoined(text, first, second, between!)) {
      const { at, end } = around(text, first.at, second.at + second.length);
      periods.push({ at, length: end - at, ...told(fromTo(first, second)) });
      index++;
    } else periods.push(open(text, first));
  }
  return periods;
}

/** From a Monday to a Wednesday: of weekdays the first is the one before the other, and not both the newest. */
function fromTo(first: FoundSpan, second: FoundSpan): Span {
  const ahead = first.from - second.from;
  const areDays = first.to - first.from === DAY_MS && second.to - second.from === DAY_MS;
  const from = areDays && ahead > 0 && ahead < 7 * DAY_MS ? first.from - 7 * DAY_MS : first.from;
  return { from, to: Math.max(from + first.to - first.from, second.to) };
}

/** "From … to …" and "between … and …" are one period; what "and" joins else only where nothing lies in between. */
function isJoined(text: string, first: FoundSpan, second: FoundSpan, between: string): boolean {
  if (/^\s*(?:to|until|till|through|up to|-|–|—|~|到|至)\s*(?:on )?$/.test(between)) return true;
  if (!/^\s*(?:and|和)\s*(?:on )?$/.test(between)) return false;
  const opens = /(?:\bbetween\s+(?:the\s+)?|从|自)\s*$/.test(text.slice(0, first.at));
  return opens || first.to === second.from || /^\s*(?:之间|期间)/.test(text.slice(second.at + second.length));
}

function spansIn(text: string, now: number, ahead: boolean): FoundSpan[] {
  const spans: FoundSpan[] = [];
  let rest = text;
  for (const [form, read] of FORMS)
    for (let found = form.exec(rest); found; found = form.exec(rest)) {
      const { index: at } = found;
      const { length } = found[0];
      const span = isWhole(text, at, length) ? read(found, now, ahead) : undefined;
      if (span) spans.push({ at, length, ...span });
      // Read once: nothing else is found in its place.
      rest = rest.slice(0, at) + "\u0000".repeat(length) + rest.slice(at + length);
    }
  return spans.sort((a, b) => a.at - b.at);
}

/** Letters and digits go on neither before nor behind it; what is written without spaces needs none. */
const isWhole = (text: string, at: number, length: number): boolean =>
  !(/[a-z0-9_]$/.test(text.slice(0, at)) && /^[a-z0-9]/.test(text.slice(at))) &&
  !(/^[a-z0-9_]/.test(text.slice(at + length)) && /[a-z0-9]$/.test(text.slice(at, at + length)));

/** With the words around it that are a part of it. */
function around(text: string, at: number, end: number): { at: number; end: number } {
  const before =
    /(?:\b(?:between|from|on|in|during|over)\s+(?:the\s+)?|从|自|在)\s*$/.exec(text.slice(0, at))?.[0] ?? "";
  const behind = /^\s*(?:之间|期间|内|里)/.exec(text.slice(end))?.[0] ?? "";
  return { at: at - before.length, end: end + behind.length };
}

const SINCE = /(?:\b(?:since|starting|from)\s+(?:the\s+|on\s+)?|自从|自|从)\s*$/;
const AFTER = /\bafter\s+(?:the\s+)?$/;
const BEFORE = /\b(?:before|until|till|up to|prior to)\s+(?:the\s+)?$/;
const BY = /\bby\s+(?:the\s+)?$/;
const SINCE_ZH = /^\s*(?:以来|起|开始|至今|到现在)/;
const AFTER_ZH = /^\s*(?:之后|以后|后)/;
const BEFORE_ZH = /^\s*(?:之前|以前|前)/;

/** One span, open at an end where the words around it say so. */
function open(text: string, { at, length, from, to }: FoundSpan): Placed {
  const before = text.slice(0, at);
  const behind = text.slice(at + length);
  const ends: [RegExpExecArray | null, "before" | "behind", Partial<Span>][] = [
    [AFTER_ZH.exec(behind), "behind", { from: to }],
    [BEFORE_ZH.exec(behind), "behind", { to: from }],
    [SINCE_ZH.exec(behind), "behind", { from }],
    [AFTER.exec(before), "before", { from: to }],
    [BEFORE.exec(before), "before", { to: from }],
    [SINCE.exec(before), "before", { from }],
    [BY.exec(before), "before", { to }],
  ];
  const found = ends.find(([words]) => words !== null);
  if (!found) {
    const { at: begin, end } = around(text, at, at + length);
    return { at: begin, length: end - begin, ...told({ from, to }) };
  }
  const [words, side, span] = found;
  const extra = words![0].length;
  // `从上周以来` has words on both sides.
  const lead = side === "behind" ? (SINCE.exec(before)?.[0].length ?? 0) : extra;
  return { at: at - lead, length: length + lead + (side === "behind" ? extra : 0), ...told(span) };
}

const told = ({ from, to }: Partial<Span>): Period => ({
  ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
  ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
});
