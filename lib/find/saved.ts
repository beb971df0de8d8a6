/** Saved questions: queries with names, in English and Chinese. */
import { normalizeName } from "../changes/rules/names.ts";
import { queryTerms } from "../memory/tokens.ts";

/** Questions that are suggested for a text. */
const MAX_SIMILAR = 3;

/** A query with its names. */
export interface SavedQuestion {
  id: string;
  title: { en: string; zh: string };
  query: string;
}

const saved = (id: string, en: string, zh: string, query: string): SavedQuestion => ({ id, title: { en, zh }, query });

export const SAVED_QUESTIONS: readonly SavedQuestion[] = [
  saved("waiting-for-me", "Waiting for me", "等我处理的", "is:waiting sort:expires-asc"),
  saved("my-proposals", "My proposals", "我提出的变更", "is:mine"),
  saved("pending", "Waiting for consent", "等待批准的变更", "is:pending_consent sort:expires-asc"),
  saved("ready-to-apply", "Approved and not applied", "已批准未上线的变更", "is:approved sort:expires-asc"),
  saved("expiring", "Expiring within seven days", "七天内到期的变更", "expires:next-7-days sort:expires-asc"),
  saved("overdue", "Overdue", "逾期的变更", "is:overdue sort:expires-asc"),
  saved("high-risk", "High risk and open", "未完成的高风险变更", "is:pending_consent,approved risk:high"),
  saved("live", "Live now", "当前生效的变更", "is:applied sort:applied"),
  saved("applied-last-week", "Applied last week", "上周上线的变更", "applied:last-week sort:applied"),
  saved("rolled-back", "Rolled back", "已回滚的变更", "is:rolled_back sort:rolledback"),
  saved("denied", "Denied and withdrawn", "被拒绝或撤回的变更", "is:denied sort:decided"),
  saved("drifted", "Drifted from the record", "与记录不符的变更", "is:drifted"),
  saved("broken-promises", "Broken promises", "未兑现的预期", "verdict:missed,regressed sort:applied"),
  saved("by-agents", "Proposed by agents", "代理提出的变更", "by:agents,models group:proposer"),
  saved("automatic", "Approved automatically", "自动批准的变更", "is:automatic"),
  saved("emergencies", "Emergencies", "紧急变更", "is:emergency"),
  saved("no-reason", "Changes without a reason", "没有理由的变更", "reason:absent"),
  saved(
    "time-to-decision",
    "Time to a decision",
    "决定所用的时间",
    "decided:last-30-days time:proposed-decided sort:time",
  ),
];

/** A title as it is compared: without case, spaces and the marks at its end. */
const plain = (text: string): string => normalizeName(text.replaceAll(/[\s?？.。!！]+/g, " "));

/** The saved question with this id or title, in either language. */
export const savedQuestionNamed = (text: string): SavedQuestion | undefined =>
  SAVED_QUESTIONS.find(({ id, title }) => [id, title.en, title.zh].some((name) => plain(name) === plain(text)));

/** Saved questions whose titles share words with a text, the best first. */
export function findSimilarQuestions(text: string): SavedQuestion[] {
  const asked = new Set(queryTerms(text));
  const scored = SAVED_QUESTIONS.map((question) => {
    const terms = queryTerms(`${question.title.en} ${question.title.zh}`);
    return { question, score: terms.filter((term) => asked.has(term)).length };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_SIMILAR)
    .map(({ question }) => question);
}
