/** The built-in responder: the same question on the same records has the same answer, and says which records it is from. */
import { sameName } from "../governance/rules/names.ts";
import { quote, shorten } from "../kit/quote.ts";
import type { Citation } from "../memory/history.ts";
import type { Recalled } from "../memory/recall.ts";
import { expireOverdue } from "../follow/expire_overdue.ts";
import type { PulseDeps } from "../pulse/deps.ts";
import type { ChangeFilter } from "../pulse/query/filter.ts";
import { look } from "../pulse/query/look.ts";
import { quietly } from "../governance/views.ts";
import { type Answer, type Asking, lines } from "./answers/asking.ts";
import { tellPeers, tellStatus, tellTasks } from "./answers/figures.ts";
import { explain, namesOne } from "./answers/one_change.ts";
import { KINDS } from "./answers/kinds.ts";
import { examplesOf } from "./answers/unknown.ts";
import type { Kind } from "./answers/kind.ts";
import { alternativesOf } from "./question/alternatives.ts";
import { Names, namesOn } from "./question/names.ts";
import { partsOf } from "./question/parts.ts";
import { planOf } from "./question/plan.ts";
import { unusedIn } from "./question/unused.ts";
import { isWord, languageOf, type Question, readQuestion } from "./question/read.ts";
import { type Say, sayIn } from "./say/say.ts";

/** Who asks, and where people decide. */
export interface Asker {
  author: string | null;
  /** The address of a change's page; of the console itself for "". */
  page(changeId: string): string;
}

const LONGEST_MEMORY = 300;
/** Of a message so many questions are answered. */
const MOST_PARTS = 3;

/** The responder's words for a message. */
export const phrasesFor = (message: string): Say => sayIn(languageOf(message));

/**
 * Answers from the records; where these do not answer the whole of it, from the memories that were recalled for this message
 * too. Those name other changes than were asked for, and what the records tell needs none.
 */
export async function answerByRules(
  deps: PulseDeps,
  message: string,
  memories: readonly Recalled[],
  asker: Asker,
): Promise<Answer & { memories: readonly Recalled[] }> {
  const say = phrasesFor(message);
  const known: Answer = deps.product
    ? await fromRecords(deps, message, asker, say)
    : await withoutProduct(deps, message, say);
  const used = known.isWhole ? [] : memories;
  const answers = [known, fromMemory(used, say)].filter((answer) => answer !== undefined);
  return {
    memories: used,
    text: lines(answers.map(({ text }) => text)),
    citations: distinct(answers.flatMap(({ citations }) => citations)),
  };
}

/** Each question of the message by itself; where there are several, behind its words. */
async function fromRecords(deps: PulseDeps, message: string, asker: Asker, say: Say): Promise<Answer> {
  const { intent } = deps.product!;
  await quietly(deps, expireOverdue(deps));
  const seen = await look(deps);
  const names = namesOn(seen.rows, intent, isWord);
  const parts = partsOf(message, names, deps.clock.now());
  const asked = parts.slice(0, MOST_PARTS);
  const answers: { text: string; told: Answer }[] = [];
  for (const part of asked) {
    const { text } = part;
    const told = await fromPart(part, { deps, seen, names, say, asker });
    // Asked twice in other words, it is answered once.
    const same = answers.find((one) => one.told.text === told.text);
    if (same) same.text += ` ${text.trim()}`;
    else answers.push({ text: text.trim(), told });
  }
  const isSeveral = answers.length > 1;
  return {
    text: lines(
      answers.map(({ text, told }) => (isSeveral ? `${quote(text, 120)}\n${told.text}` : told.text)),
      parts.length > asked.length ? say.notAnswered(parts.slice(MOST_PARTS).map(({ text }) => text)) : "",
    ),
    citations: answers.flatMap(({ told }) => told.citations),
    isWhole: parts.length === asked.length && answers.every(({ told }) => told.isWhole === true),
  };
}

type Context = Pick<Asking, "deps" | "seen" | "names" | "say"> & { asker: Asker };

/** A question, or each of the alternatives that it asks for. */
async function fromPart(part: Question, context: Context): Promise<Answer> {
  const { deps, seen, names, say, asker } = context;
  const { author, page } = asker;
  const person = author === null ? null : (names.only("person", sameName(author)) ?? author);
  const told: Answer[] = [];
  for (const question of alternativesOf(part)) {
    const plan = planOf(question, seen.rows, person);
    told.push(await fromOne({ deps, question, plan, seen, names, say, asker: person, page }));
  }
  return {
    text: lines([...new Set(told.map(({ text }) => text))]),
    citations: told.flatMap(({ citations }) => citations),
    isWhole: told.every(({ isWhole }) => isWhole === true),
  };
}

async function fromOne(asking: Asking): Promise<Answer> {
  const { question, plan, say } = asking;
  const strange = strangersIn(question, plan.left);
  const turned = negationsIn(question);
  if (isForHelp(question)) return { text: lines(say.help, examplesOf(asking)), citations: [], isWhole: true };
  if (strange.length > 0 && namesOne(asking)) {
    const told = await explain(asking);
    if (told) return { ...told, text: lines(say.notOnRecord(strange), told.text) };
  }
  let passed: string[] = [];
  for (const kind of strange.length + turned.length > 0 ? [] : KINDS) {
    // With a part of it not understood, "all changes" answers nothing.
    if (!kind.fits(asking) || (kind.isBroad && (plan.left.length > 0 || question.has("not")))) continue;
    const answer = await kind.answer(asking);
    if (!answer) continue;
    passed = leftBy(kind, asking);
    // What was left out may be what is on record: "none" would be said of something else.
    if (answer.isNone && plan.left.length + passed.length > 0) break;
    // It is on record, and not as was asked: what it is instead is told too.
    const whole = answer.citations.length === 0 && namesOne(asking) ? await explain(asking) : undefined;
    const told = whole ? { text: lines(answer.text, whole.text), citations: whole.citations } : answer;
    const note = lines(
      plan.left.length === 0 ? "" : say.notUnderstood(plan.left),
      passed.length === 0 ? "" : say.leftOut(passed),
    );
    const isWhole = note === "" && (told.isWhole || told.citations.length > 0 || isOfRecords(plan.filter));
    return { ...told, text: lines(note, told.text), isWhole };
  }
  const ids = question.named("change");
  return {
    text: lines(
      ids.length > 0 ? say.noChange(ids) : strange.length > 0 ? say.notOnRecord(strange) : say.notUnderstoodAtAll,
      ids.length > 0 || strange.length > 0 ? "" : say.nothingLeft([...turned, ...plan.left, ...passed]),
      examplesOf(asking),
    ),
    citations: [],
  };
}

/** What was understood, and is not what this kind of question is answered with. */
function leftBy(kind: Kind, { question, plan }: Asking): string[] {
  const passed = new Set<string>(kind.passes);
  const named = question.tokens.flatMap((token) => {
    const of = token.type === "name" ? token.named.kind : token.type;
    const isPassed = token.type === "period" && token.isAhead ? !kind.isOfAhead : passed.has(of);
    return isPassed ? [token.words.trim()] : [];
  });
  return [...named, ...(kind.tells ? unusedIn(question, plan, kind.tells) : [])];
}

/**
 * Words that are meant as names, and that nothing on record has: without them another question would be answered. Among
 * Chinese, what is written in letters is one.
 */
function strangersIn({ text, language, named, tokens }: Question, left: readonly string[]): string[] {
  const ids = named("change");
  return left.filter((word) => {
    // Days are no name, and whoever is named beside another is on record too.
    if (ids.includes(word) || word.includes("…") || isNamed(tokens, word)) return false;
    const at = text.toLowerCase().indexOf(word);
    const isCapital = at > 0 && /^\p{Lu}/u.test(text.slice(at));
    const before = text.slice(0, at);
    const isLabelled = /(?:\btenant|\btarget|\bby|租户)\s*["'“「]?$/i.test(before) || /目标\s+["'“「]?$/.test(before);
    return isCapital || isLabelled || /[@_\d]|\w[.:]\w/.test(word) || (language === "zh" && /^[a-z]/.test(word));
  });
}

const isNamed = (tokens: Question["tokens"], word: string): boolean =>
  tokens.some((token) => token.type === "name" && token.named.values.includes(word));

/** A "not" that is a part of no phrase, and that turns round what is asked for. */
const negationsIn = ({ tokens, has }: Question): string[] =>
  has("why", "may", "policy", "forbidden", "ready", "intact", "pending", "waits")
    ? []
    : tokens.flatMap((token) => (token.type === "sense" && token.senses.includes("not") ? [token.words] : []));

/** Whether it is asked of somebody, or of something, that is on record: that there is none is then the whole answer. */
const isOfRecords = ({ person, tenant_id, target, change_id }: ChangeFilter): boolean =>
  [person, tenant_id, target, change_id].some((asked) => asked !== undefined);

/** A greeting, or a question for what can be asked, and nothing else. */
const isForHelp = ({ has, tokens, text }: Question): boolean =>
  /^[\s?？]+$/.test(text) ||
  (has("help") && tokens.every((token) => token.type === "sense" && token.senses.some((one) => HELPFUL.has(one))));
const HELPFUL: ReadonlySet<string> = new Set(["help", "noise", "which", "may", "me"]);

/** Without a product there is little to tell: the state, tasks, peers. */
async function withoutProduct(deps: PulseDeps, message: string, say: Say): Promise<Answer> {
  const question = readQuestion(message, new Names(), deps.clock.now());
  const { has } = question;
  const told = has("tasks")
    ? await tellTasks({ deps, say })
    : has("peers")
      ? await tellPeers({ deps, say })
      : has("status")
        ? await tellStatus(deps, say)
        : { text: "", citations: [] };
  const isPlain = isForHelp(question);
  return { text: lines(isPlain ? say.help : "", told.text, say.off), citations: told.citations };
}

function fromMemory(memories: readonly Recalled[], say: Say): Answer | undefined {
  if (memories.length === 0) return undefined;
  const told = memories.map((memory) => say.memory({ ...memory, text: shorten(memory.text, LONGEST_MEMORY) }));
  return { text: lines(say.remembered, told), citations: memories.map(({ id }) => ({ kind: "memory", id })) };
}

/** Each citation once, in the order of first mention. */
const distinct = (citations: readonly Citation[]): Citation[] => [
  ...new Map(citations.map((citation) => [`${citation.kind} ${citation.id}`, citation])).values(),
];
