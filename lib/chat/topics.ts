/** Recognises short questions about fixed topics; a message with other words is a search instead. */
import type { LifecycleAction } from "../changes/rules/transitions.ts";
import { FILLER_WORDS } from "../find/filler_words.ts";

/** A question that is answered from more than a query. */
export type Topic = "help" | "status" | "kpis" | "failures" | "log";

/** A topic with its words: a message about it has a word that matches `key`; its other words match `key` or `also`, or are filler. */
interface TopicWords {
  topic: Topic | { query: string };
  key: RegExp;
  also?: RegExp;
}

const TOPICS: readonly TopicWords[] = [
  { topic: "help", key: /^(?:help|hi|hello|hey|ask|commands?|帮助|你好)$/ },
  {
    topic: "log",
    key: /^(?:intact|tampered|valid|verified|verify|complete|sound|完整|篡改)$/,
    also: /^(?:log|audit|chain|trail|日志|审计)$/,
  },
  { topic: "status", key: /^(?:status|overview|summary|state|going|状态|概况)$/, also: /^(?:stand|doing|overall)$/ },
  { topic: "kpis", key: /^(?:kpis?|metrics?|goals?|指标|目标)$/, also: /^(?:doing|stand|status|moving|going)$/ },
  {
    topic: "failures",
    key: /^(?:fail|fails|failed|failures?|failing|broke|broken|errors?|wrong|失败|出错)$/,
    also: /^(?:went|gone|goes|applies|apply|rollbacks?|drift|drifted)$/,
  },
  {
    topic: { query: "is:pending_consent sort:expires-asc" },
    key: /^(?:pending|open|wait|waiting|waits|awaiting|待审批|待批准)$/,
    also: /^(?:approval|approvals|consent|consents|decision|decisions)$/,
  },
];

/** A short message that matches both patterns asks for the changes that wait for the caller. */
const FOR_ME =
  /\b(?:for|on) me\b|\bmy (?:approval|consent|decision|signature|inbox)\b|\bi (?:have to|need to|must|should|can) (?:approve|sign|decide|consent)|等我|我要批|我需要批/i;
const WAITS =
  /\b(?:wait|waits|waiting|pending|awaiting|open|need|needs|approval|consent|approve|sign|decide|inbox)\b|等我|批/i;

const splitWords = (message: string): string[] => message.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];

/** Finds the topic of a message, or the query that answers it; undefined for any other message. */
export function findTopic(message: string): TopicWords["topic"] | undefined {
  if (/^[\s?？!]*$/.test(message)) return "help";
  const words = splitWords(message);
  const isShort = words.length <= 10;
  if (isShort && FOR_ME.test(message) && WAITS.test(message) && !isDated(message))
    return { query: "is:waiting sort:expires-asc" };
  const significant = words.filter((word) => !FILLER_WORDS.has(word));
  const isAbout = ({ key, also }: TopicWords): boolean =>
    significant.some((word) => key.test(word)) &&
    significant.every((word) => key.test(word) || also?.test(word) === true);
  return TOPICS.find(isAbout)?.topic;
}

/** Returns true for a message with a date, which the fixed answers do not support. */
const isDated = (message: string): boolean =>
  /\b(?:yesterday|last|next|since|before|after|until|20\d\d)\b/i.test(message);

const REASON_QUESTION = /^\s*(?:why|为什么|为何)(?:\b|(?=\p{Script=Han}))/iu;

/** Returns the words after "why" of a question that begins with it; undefined for any other message. */
export const findReasonQuestion = (message: string): string | undefined =>
  REASON_QUESTION.test(message)
    ? message.replace(REASON_QUESTION, "").replace(/^\s*(?:was|were|is|are|did|do|does|has|have)\b/i, "")
    : undefined;

/** An action that a message orders, and the words that describe the change. */
export interface Action {
  verb: LifecycleAction;
  rest: string;
}

const ACTIONS: readonly (readonly [verb: LifecycleAction, pattern: RegExp])[] = [
  ["approve", /^(?:approve|consent to|sign off(?: on)?|accept|批准|同意)/i],
  ["deny", /^(?:deny|reject|refuse|拒绝|否决)/i],
  ["withdraw", /^(?:withdraw|撤回)/i],
  ["revoke", /^(?:revoke|撤销)/i],
  ["rollback", /^(?:roll ?back|roll\b.*\bback\b|revert|undo|回滚|还原)/i],
  ["apply", /^(?:apply|deploy|ship|应用|部署|上线)/i],
];
const POLITE_PREFIX =
  /^(?:(?:please|kindly|ok|okay|can you|could you|would you|will you|just|go ahead and|you should|you must|i want you to)[\s,]+|(?:请你|请|帮我|麻烦你))+/i;

/** Finds the action that a message orders; undefined if it orders nothing. */
export function findAction(message: string): Action | undefined {
  const text = message.trim().replace(POLITE_PREFIX, "");
  for (const [verb, pattern] of ACTIONS) {
    const [order] = pattern.exec(text) ?? [];
    // A word that continues, as in "approved by ana" or "withdrawals", describes changes and orders nothing.
    if (order === undefined || /^(?:d|\w*ed|als?)\b/i.test(text.slice(order.length))) continue;
    return {
      verb,
      rest: text.slice(order.length).replace(/\b(?:it|this|that|one|change|for|me|please)\b|它|这个|变更|吧/gi, " "),
    };
  }
  return undefined;
}
