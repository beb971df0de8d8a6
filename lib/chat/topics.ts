/** Words of questions that memory is not searched for; English and Chinese. */
import { queryTerms } from "../memory/tokens.ts";

/** Words that say how one asks, not after what: they find nothing in memory. */
export const QUESTION_TERMS: ReadonlySet<string> = new Set(
  [
    "a an and any are as at be by can change changes could did do does for from had has have how i in is it its me my",
    "now of on or our please show tell that the there they thing this to us was we were what when where which who whom",
    "why will with would you your about know remember help status state overview summary pending waiting approval",
    "consent approve kpi metric goal fail failure error drift explain reason",
    "什么 为什 为何 怎么 哪些 多少 状态 情况 概况 指标 目标 失败 错误 待审 审批 等待 帮助 原因 解释 请问 现在 我们 你们",
    "吗 呢 的 了",
  ].flatMap((words) => words.split(" ").flatMap(queryTerms)),
);
