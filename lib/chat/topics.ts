/** What a question is about, told by its words; English and Chinese. */
import { queryTerms } from "../memory/tokens.ts";

export type Language = "en" | "zh";
export type Topic = "help" | "change" | "failed" | "kpis" | "pending" | "status";

/** Chinese where there are Chinese characters and no Japanese ones. */
export const languageOf = (text: string): Language =>
  /\p{Script=Han}/u.test(text) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text) ? "zh" : "en";

/** In the order in which they are asked: the first that fits wins. */
const TOPICS: readonly [Topic, RegExp][] = [
  [
    "help",
    /^[\s\p{P}]*(help|hi|hello|hey|帮助|你好|您好)[\s\p{P}]*$|^\?+$|what can (you|i)|你能(做|干)?什么|怎么用|有什么功能/u,
  ],
  ["change", /\bwhy\b|\bexplain\b|\breason\b|chg_[0-9a-f-]{36}|为什么|为何|原因|解释/u],
  ["failed", /\bfail(s|ed|ure|ures|ing)?\b|\berrors?\b|\bwent wrong\b|\bdrift(s|ed)?\b|失败|出错|错误|故障|漂移/u],
  ["kpis", /\bkpis?\b|\bmetrics?\b|\bgoals?\b|\btargets\b|指标|目标|绩效/u],
  [
    "pending",
    /\bpending\b|\bwait(s|ing)?\b|\bapprovals?\b|\bconsent\b|\bto approve\b|待审|待批|审批|待处理|等待|未决|批准/u,
  ],
  ["status", /\bstatus\b|\bstate\b|\boverview\b|\bsummary\b|\bhow are (we|you|things)\b|状态|概况|概览|情况|进展/u],
];

/** The topics that a question touches, the likeliest first; naming a KPI asks for KPIs. */
export function topicsOf(text: string, kpis: readonly string[] = []): Topic[] {
  const lower = text.normalize("NFKC").toLowerCase();
  const found = TOPICS.filter(([, words]) => words.test(lower)).map(([topic]) => topic);
  if (!found.includes("kpis") && kpis.some((kpi) => lower.includes(kpi))) found.push("kpis");
  return found;
}

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
