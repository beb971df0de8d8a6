/**
 * The built-in responder. It answers queries, saved questions and a few topics; any other message is a search for its words. The
 * same message on the same records gets the same answer.
 */
import type { Change } from "../changes/rules/change.ts";
import { listAllowedInTime } from "../changes/rules/overdue.ts";
import { askQuery, findChangesWhere, searchRecords } from "../find/ask.ts";
import { type Answer, cite, joinLines, describeRow } from "../find/found_text.ts";
import type { Row } from "../find/row.ts";
import { label, shorten } from "../kit/quote.ts";
import type { Citation } from "../memory/history.ts";
import type { FoundMemory } from "../memory/recall.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { findChange } from "./facts.ts";
import { explainChange } from "./explain_change.ts";
import { answerTopic, HELP, PRODUCT_OFF_TEXT } from "./topic_answers.ts";
import { type Action, findAction, findTopic, findReasonQuestion } from "./topics.ts";

/** The caller, and the addresses of changes. */
export interface Caller {
  author: string | null;
  /** Returns the address of a change's page. */
  page(changeId: string): string;
}

const MAX_MEMORY_LENGTH = 300;
/** Maximum number of changes that are listed for an action. */
const MAX_ACTION_CHANGES = 3;

/** Answers a message from the records, and adds memories if the answer is not complete. */
export async function respond(
  deps: OperationsDeps,
  message: string,
  memories: readonly FoundMemory[],
  caller: Caller,
): Promise<Answer & { memories: readonly FoundMemory[] }> {
  const answer = deps.product ? await answerMessage(deps, message, caller) : await answerWithoutProduct(deps, message);
  const usedMemories = answer.isComplete ? [] : memories;
  const memoryLines = usedMemories.map(({ at, basis, kind, author, text }) => {
    // The text of a statement names its author already.
    const source = basis === "said" ? "" : `${kind}${author === null ? "" : ` by ${label(author)}`}: `;
    return `- ${at.slice(0, 10)}, ${source}${shorten(text, MAX_MEMORY_LENGTH)}`;
  });
  return {
    text: joinLines(answer.text, usedMemories.length > 0 ? ["From memory:", ...memoryLines] : ""),
    citations: removeDuplicates([
      ...answer.citations,
      ...cite(
        "memory",
        usedMemories.map(({ id }) => id),
      ),
    ]),
    memories: usedMemories,
  };
}

async function answerWithoutProduct(deps: OperationsDeps, message: string): Promise<Answer> {
  const topic = findTopic(message);
  const status = topic === "status" ? await answerTopic(deps, "status") : { text: "", citations: [] };
  const text = joinLines(topic === "help" ? HELP : "", status.text, PRODUCT_OFF_TEXT);
  return { text, citations: status.citations, isComplete: topic !== undefined };
}

async function answerMessage(deps: OperationsDeps, message: string, caller: Caller): Promise<Answer> {
  const queryAnswer = await askQuery(deps, message, caller.author);
  if (queryAnswer) return addDetail(deps, queryAnswer);
  const action = findAction(message);
  if (action) return describeActionPage(deps, action, caller);
  const topic = findTopic(message);
  if (typeof topic === "string") return answerTopic(deps, topic);
  const topicAnswer = topic && (await askQuery(deps, topic.query, caller.author));
  if (topicAnswer) return topicAnswer;
  const reasonQuestion = findReasonQuestion(message);
  const { answer, rows } = await searchRecords(deps, reasonQuestion ?? message, {
    caller: caller.author,
    // A question for a reason may name the status of a change, which the texts of the change do not contain.
    words: reasonQuestion === undefined ? "all" : "any",
  });
  const first = reasonQuestion === undefined || !rows[0] ? undefined : await findChange(deps, rows[0].change_id);
  if (!first) return rows.length > 0 ? answer : { ...answer, text: joinLines(answer.text, HELP) };
  const { text, citations } = explainChange(first);
  return {
    text: joinLines(answer.text, rows.length > 1 ? "The first of them:" : "", text),
    citations: [...citations, ...answer.citations],
  };
}

/** Adds details to an answer that cites a single change. */
async function addDetail(deps: OperationsDeps, answer: Answer): Promise<Answer> {
  const [only, ...others] = answer.citations;
  const change = only && others.length === 0 ? await findChange(deps, only.id) : undefined;
  if (!change) return answer;
  const { text, citations } = explainChange(change);
  return { ...answer, text: joinLines(answer.text, text), citations };
}

/** Describes the pages on which a person can take an action, since chat takes none. */
async function describeActionPage(
  deps: OperationsDeps,
  { verb, rest }: Action,
  { author, page }: Caller,
): Promise<Answer> {
  const context = { intent: deps.product!.intent, now: deps.clock.now() };
  const where = ({ change }: Row): boolean => listAllowedInTime(change as Change, context).includes(verb);
  const { query, rows } = await findChangesWhere(deps, rest, { caller: author, where });
  const shown = rows.slice(0, MAX_ACTION_CHANGES);
  return {
    text: joinLines(
      "Chat decides nothing.",
      shown.length === 0
        ? `Query: ${query} – no change that matches has a status that allows: ${verb}.`
        : "A person does this on the page of the change:",
      shown.flatMap((row) => [describeRow(row), `  ${page(row.change_id)}`, `  countersign ${verb} ${row.change_id}`]),
    ),
    citations: cite(
      "change",
      shown.map(({ change_id }) => change_id),
    ),
    isComplete: true,
  };
}

/** Returns each citation once, in the order of first mention. */
const removeDuplicates = (citations: readonly Citation[]): Citation[] => [
  ...new Map(citations.map((citation) => [`${citation.kind} ${citation.id}`, citation])).values(),
];
