/**
 * The judge of question sets: each question is put to the chat over the simulated month, and its answer is held against
 * what the ledger knows. Fully answered is what holds every fact asked for; untrue is what holds a fact that is none.
 */
import { contradictionsIn, isNamed } from "./month/contradictions.ts";
import type { Ledger } from "./month/ledger.ts";

/**
 * A fact that an answer must, or must not, hold. The name of a change in the story (`short form`): the answer names it, by
 * id, or by its target or summary. A number: as a number of its own. Other text: somewhere in it, in any case.
 */
export type Fact = string | number | RegExp;

/** A question, and what its answer is judged by. */
export interface Question {
  ask: string;
  /** Who asks; a person of the story, Gil by default. */
  by?: string;
  language: "en" | "zh";
  must: readonly Fact[];
  mustNot?: readonly Fact[];
}

/** What became of a question. */
export interface Judged {
  question: Question;
  answer: string;
  answered: "fully" | "partly" | "not";
  missing: Fact[];
  /** What it says that is not so. */
  untrue: string[];
  /** It says that there is nothing, where there is something. */
  falseNothing: boolean;
}

/** Judgements, and how many there are of each. */
export interface Verdict {
  judged: Judged[];
  fully: number;
  partly: number;
  not: number;
  untrue: number;
  falseNothings: number;
}

/** Says what the chat would say to this person. */
export type Ask = (question: string, by?: string) => Promise<string>;

/** The share of questions that must be answered fully. */
const FULLY = 0.85;
const NOTHING =
  /\bnothing\b|\bno (such )?(changes?|records?|decisions?|outcomes?|one)\b|\bnobody\b|\bnone\b|没有|未找到|无人/i;

/** Asks all questions, one after the other, and judges the answers. */
export async function judge(ledger: Ledger, questions: readonly Question[], ask: Ask): Promise<Verdict> {
  const judged: Judged[] = [];
  for (const question of questions) judged.push(judgeAnswer(ledger, question, await ask(question.ask, question.by)));
  const count = (is: (one: Judged) => boolean): number => judged.filter(is).length;
  return {
    judged,
    fully: count(({ answered }) => answered === "fully"),
    partly: count(({ answered }) => answered === "partly"),
    not: count(({ answered }) => answered === "not"),
    untrue: count(({ untrue }) => untrue.length > 0),
    falseNothings: count(({ falseNothing }) => falseNothing),
  };
}

/** Judges one answer. */
export function judgeAnswer(ledger: Ledger, question: Question, answer: string): Judged {
  const { must, mustNot = [] } = question;
  const missing = must.filter((fact) => !holds(ledger, answer, fact));
  const answered = missing.length === 0 ? "fully" : missing.length < must.length ? "partly" : "not";
  const untrue = [
    ...mustNot.filter((fact) => holds(ledger, answer, fact)).map((fact) => `says ${String(fact)}`),
    ...contradictionsIn(ledger, answer),
  ];
  const falseNothing = answered !== "fully" && NOTHING.test(answer);
  return { question, answer, answered, missing, untrue, falseNothing };
}

function holds(ledger: Ledger, answer: string, fact: Fact): boolean {
  if (fact instanceof RegExp) return fact.test(answer);
  if (typeof fact === "number") return new RegExp(`(?<![\\d.])${escaped(String(fact))}(?!\\d|\\.\\d)`).test(answer);
  const change = ledger.changes.get(fact);
  return change ? isNamed(change, answer) : answer.toLowerCase().includes(fact.toLowerCase());
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What keeps a set from passing; empty when it passes. */
export function shortfallsOf({ judged, fully, untrue, falseNothings }: Verdict): string[] {
  return [
    ...(fully < FULLY * judged.length ? [`${fully} of ${judged.length} fully answered; ${FULLY * 100} % must be`] : []),
    ...(untrue > 0 ? [`${untrue} say what is not so; none may`] : []),
    ...(falseNothings > 0 ? [`${falseNothings} say that there is nothing where there is; none may`] : []),
  ];
}

/** The figures in a line, and a row for each question that was not answered fully and truly. */
export function reportOf({ judged, fully, partly, not, untrue, falseNothings }: Verdict): string {
  const rows = judged.filter((one) => one.answered !== "fully" || one.untrue.length > 0);
  return [
    `${judged.length} questions: ${fully} fully, ${partly} partly, ${not} not answered; ${untrue} untrue, ${falseNothings} false nothings`,
    ...rows.map(({ question, answered, missing, untrue: lies, falseNothing, answer }) =>
      [
        `- ${question.ask}${question.by ? ` (${question.by})` : ""} | ${answered}${falseNothing ? ", false nothing" : ""}`,
        ...(missing.length > 0 ? [`  lacks: ${missing.map(String).join("; ")}`] : []),
        ...lies.map((lie) => `  UNTRUE: ${lie}`),
        ...answer.split("\n").map((line) => `  > ${line}`),
      ].join("\n"),
    ),
  ].join("\n");
}
