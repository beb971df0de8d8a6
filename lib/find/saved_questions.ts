/** Saved questions: queries with names, in English and Chinese. */
import { normalizeName } from "../changes/rules/names.ts";
import { queryTerms } from "../memory/tokens.ts";
import { FILLER_TERMS } from "./filler_words.ts";

/** Maximum number of questions suggested for a text. */
const MAX_SIMILAR = 3;

/** A query with its names. */
export interface SavedQuestion {
  id: string;
  title: { en: string; zh: string };
  query: string;
}

const savedQuestion = (id: string, en: string, zh: string, query: string): SavedQuestion => ({
  id,
  title: { en, zh },
  query,
});

export const SAVED_QUESTIONS: readonly SavedQuestion[] = [
  savedQuestion("waiting-for-me", "Waiting for me", "等我处理的", "is:waiting sort:expires-asc"),
  savedQuestion("my-proposals", "My proposals", "我提出的变更", "is:mine"),
  savedQuestion("pending", "Waiting for consent", "等待批准的变更", "is:pending_consent sort:expires-asc"),
  savedQuestion("ready-to-apply", "Approved and not applied", "已批准未上线的变更", "is:approved sort:expires-asc"),
  savedQuestion("expiring", "Expiring within seven days", "七天内到期的变更", "expires:next-7-days sort:expires-asc"),
  savedQuestion("overdue", "Overdue", "逾期的变更", "is:overdue sort:expires-asc"),
  savedQuestion("high-risk", "High risk and open", "未完成的高风险变更", "is:pending_consent,approved risk:high"),
  savedQuestion("live", "Live now", "当前生效的变更", "is:applied sort:applied"),
  savedQuestion("applied-last-week", "Applied last week", "上周上线的变更", "applied:last-week sort:applied"),
  savedQuestion("rolled-back", "Rolled back", "已回滚的变更", "is:rolled_back sort:rolledback"),
  savedQuestion("denied", "Denied and withdrawn", "被拒绝或撤回的变更", "is:denied sort:decided"),
  savedQuestion("drifted", "Drifted from the record", "与记录不符的变更", "is:drifted"),
  savedQuestion("broken-promises", "Broken promises", "未兑现的预期", "verdict:missed,regressed sort:applied"),
  savedQuestion("by-agents", "Proposed by agents", "代理提出的变更", "by:agents,models group:proposer"),
  savedQuestion("automatic", "Approved automatically", "自动批准的变更", "is:automatic"),
  savedQuestion("emergencies", "Emergencies", "紧急变更", "is:emergency"),
  savedQuestion("no-reason", "Changes without a reason", "没有理由的变更", "reason:absent"),
  savedQuestion(
    "time-to-decision",
    "Time to a decision",
    "决定所用的时间",
    "decided:last-30-days time:proposed-decided sort:time",
  ),
];

/** Normalises a title for comparison: without case, extra spaces and punctuation. */
const normalizeTitle = (text: string): string => normalizeName(text.replaceAll(/[\s?？.。!！]+/g, " "));

/** Finds the saved question with this id or title, in either language. */
export const findSavedQuestion = (text: string): SavedQuestion | undefined =>
  SAVED_QUESTIONS.find(({ id, title }) =>
    [id, title.en, title.zh].some((name) => normalizeTitle(name) === normalizeTitle(text)),
  );

/** Part of the titles; terms that occur in more of them do not distinguish questions. */
const MAX_TITLE_PART = 1 / 4;
/** Length from which the beginning of a term matches the term: `propos`, the stem of propose, matches `proposal`. */
const MIN_PREFIX_LENGTH = 4;

/** Finds saved questions whose titles share words with a text, best first. */
export function findSimilarQuestions(text: string): SavedQuestion[] {
  const titles = SAVED_QUESTIONS.map(({ title }) => queryTerms(`${title.en} ${title.zh}`));
  const isDistinctive = (term: string): boolean =>
    !FILLER_TERMS.has(term) && titles.filter((terms) => terms.includes(term)).length <= titles.length * MAX_TITLE_PART;
  const textTerms = queryTerms(text).filter(isDistinctive);
  const scored = SAVED_QUESTIONS.map((question, index) => ({
    question,
    score: textTerms.filter((term) => titles[index]!.some((titleTerm) => isSameWord(term, titleTerm))).length,
  }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_SIMILAR)
    .map(({ question }) => question);
}

const isSameWord = (a: string, b: string): boolean =>
  a === b || (Math.min(a.length, b.length) >= MIN_PREFIX_LENGTH && (a.startsWith(b) || b.startsWith(a)));
