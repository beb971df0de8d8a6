/** A message of several questions, taken apart: each is answered by itself. */
import { DEEDS } from "./deeds.ts";
import type { Names } from "./names.ts";
import { type Question, readQuestion } from "./read.ts";
import type { Sense } from "./senses.ts";

/** What is asked for by itself, and not of something that was said before. */
const SUBJECTS: readonly Sense[] = [
  ...(["log", "intact", "kpis", "unfed", "goals", "tasks", "peers", "policy", "frozen", "windows"] as const),
  ...(["guardrails", "status", "drifted", "approvers", "owners", "forbidden", "checkpoint", "reliability"] as const),
];
/** How things stand, or what is done to them: asks by itself only with a word for what is looked for. */
const STATES: readonly Sense[] = [
  ...(["pending", "waits", "ready", "failed", "refused", "overdue", "due", "live", "open", "met", "missed"] as const),
  ...(["regressed", "proposed", "approved", "denied", "applied", "rolled_back", "expired", "lapsed"] as const),
  ...(["decided", "withdrawn", "revoked", "reviewed", "happened", "emergency", "irreversible", "duration"] as const),
];
/** It speaks of what was said before. */
const BACK =
  /\b(?:it|its|they|them|their|those|these|that|this (?:one|change)|he|she|his|him|her|each one)\b|它|其中|他们|这些|那些|这个变更|那个|他|她/i;
const ASKS_FOR =
  /\b(?:what|what's|how many|how much|anything|something|which|list|show|any|is there|are there)\b|什么|哪些|有没有|多少|几个|任何/i;
const SENTENCE_END = /(?<=[?？!！。；;\n]|\.(?=\s))\s*/;
/** Where one sentence asks twice. */
const AGAIN =
  /,?\s+(?:and|plus)\s+(?:also\s+)?(?=(?:what|which|who|whose|how|when|is|are|did|do|does|has|have|was|were)\b)|,?\s+and\s+(?=(?:of|among) (?:those|these|them)\b)|[，,]\s*(?=(?:还有|另外|以及|顺便|并且|而且)?(?:谁|哪|什么|有没有|有多少|现在|上周|有哪些|有什么))/i;
/** Of more pieces than these none is a question of its own. */
const MOST_PIECES = 8;

/** The questions of a message, in their order; what only asks on about something is a part of the one before it. */
export function partsOf(message: string, names: Names, now: number): Question[] {
  const whole = readQuestion(message, names, now);
  const pieces = whole.text
    .split(SENTENCE_END)
    .flatMap((sentence) => sentence.split(AGAIN))
    .filter((text) => /[\p{L}\p{N}]/u.test(text));
  if (pieces.length < 2 || pieces.length > MOST_PIECES) return [whole];
  const parts: string[] = [];
  let before = "";
  for (const piece of pieces) {
    const question = readQuestion(piece, names, now);
    const last = parts.at(-1);
    const isOwn = standsAlone(question) && !(last !== undefined && asksOn(question, readQuestion(last, names, now)));
    if (!isOwn && last !== undefined && before === "") {
      // "Which of them were denied?" is asked of those before, which are asked for too.
      if (!isOfAnother(question, readQuestion(last, names, now))) parts.pop();
      parts.push(`${last} ${piece}`);
    } else if (isOwn && isAsking(question)) {
      parts.push(`${before}${piece}`);
      before = "";
    } else before += `${piece} `; // What only tells is told for the question behind it.
  }
  if (before !== "") parts.push(`${parts.pop() ?? ""} ${before}`.trim());
  return parts.length < 2 ? [whole] : parts.map((part) => readQuestion(part, names, now));
}

/** It asks for changes by itself. */
const FOR_CHANGES = /哪些|哪个|哪几个|有没有|\b(?:which|any|anything|list|show)\b/i;

/** When, by whom or why, of nothing that it names: of the change that was named before, or of what was done to those. */
function asksOn({ has, text, named, periods, ahead }: Question, before: Question): boolean {
  const isSame = has("failed") && before.has("failed");
  if (!isSame && !has("when", "who", "whom", "why", "duration", "due")) return false;
  if (FOR_CHANGES.test(text) || has("change", "each", "most", "least", "me")) return false;
  const isBare =
    !has(...SUBJECTS) && periods.length === 0 && !ahead && named("person").length + named("tenant").length === 0;
  const deed = DEEDS.find((one) => has(one));
  const isOfTheSame = deed !== undefined && before.has(deed) && has("who", "why") && before.periods.length > 0;
  return isBare && (isOfTheSame || before.named("target").length + before.named("change").length === 1);
}

const OF_THOSE = /\b(?:of|among) (?:those|these|them)\b|里面|里头|当中|之中|其中/i;

/** Whether it asks which or how many, and of something else that was done; or the same again, of some of them. */
function isOfAnother({ has, text }: Question, before: Question): boolean {
  const deed = DEEDS.find((one) => has(one));
  const isOfSome = OF_THOSE.test(text) && before.has("most", "least", "how_many");
  const isOther = deed !== undefined ? !before.has(deed) : isOfSome && has("live", "pending", "open");
  return isOther && (has("which", "how_many") || isOfSome);
}

const isAsking = ({ text, has }: Question): boolean =>
  !/\.\s*$/.test(text) || has("who", "whom", "why", "when", "how_many", "which", "duration", "help");

/** Whether a piece asks for something that it names itself. */
function standsAlone({ text, has, named, periods, ahead }: Question): boolean {
  if ((["target", "change", "kpi"] as const).some((kind) => named(kind).length > 0)) return true;
  if (BACK.test(text)) return false;
  if (has(...SUBJECTS) || periods.length > 0 || ahead || named("person").length + named("tenant").length > 0)
    return true;
  if (has("reach") && has("most", "least")) return true;
  return has(...STATES) && (ASKS_FOR.test(text) || has("me", "change") || (has("who") && has("most")));
}
