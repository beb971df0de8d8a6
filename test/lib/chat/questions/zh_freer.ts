import type { Question } from "../../../support/questions.ts";

/** Twenty Chinese questions in freer words: an approver, a product manager, an auditor and whoever is on call. */
export const questions: readonly Question[] = [
  { ask: "影响人数最多的是哪个变更？", language: "zh", must: ["data retention", 10000] },
  {
    ask: "隐私声明从提出到上线花了多长时间？",
    language: "zh",
    must: ["privacy notice", /1 ?天 ?22 ?(?:个)?小时 ?30 ?分|46/],
  },
  {
    ask: "明天有什么要到期？",
    language: "zh",
    must: ["merge accounts", "mail loop"],
    mustNot: ["data retention", "guest checkout", "seat limit"],
  },
  {
    ask: "这周会有哪些变更过期？",
    language: "zh",
    must: ["data retention", "bundle price", "reminder mails", "guest checkout", "merge accounts", "seat limit"],
    mustNot: ["lead scoring", "beta search"],
  },
  {
    ask: "哪些 KPI 已经很久没有更新了？",
    language: "zh",
    must: ["deal_win_rate", "incident_rate"],
    mustNot: [/csat|nrr_quarterly/],
  },
  { ask: "有哪些东西是我不该碰的？", language: "zh", must: [/billing/i] },
  {
    ask: "哪些变更说到做到了？",
    language: "zh",
    must: ["retry limit", "lead routing", "queue size"],
    mustNot: ["privacy notice", "short form", "fewer mails"],
  },
  { ask: "套餐价格卡在哪一步，等谁？", language: "zh", must: ["bundle price", /erin/i] },
  { ask: "席位上限是谁拍板的？", language: "zh", must: ["seat limit", /chen/i] },
  {
    ask: "哪些变更上线后又被撤下了，为什么？",
    language: "zh",
    must: ["short form", "back-off", "fewer mails", /without a phone number/i, /missed their renewals/i],
    mustNot: ["weekly digest", "cache size"],
  },
  {
    ask: "哪些承诺落空了？",
    language: "zh",
    must: ["privacy notice", "discount cap", "fewer mails", "trial length"],
    mustNot: ["retry limit", "lead routing", "reply time"],
  },
  { ask: "深色模式为什么没通过？", language: "zh", must: ["dark mode", /accessibility review/i] },
  { ask: "队列大小试了几次才上线？", language: "zh", must: ["queue size", 3] },
  { ask: "短表单影响了多少用户？", language: "zh", must: ["short form", 1200] },
  { ask: "哪些变更不可逆？", language: "zh", must: ["merge accounts"], mustNot: ["short form", "data retention"] },
  {
    ask: "冻结期间有没有东西上线？",
    language: "zh",
    must: ["login outage", /chen/i],
    mustNot: ["lead scoring", "trial length"],
  },
  { ask: "提醒邮件什么时候过期？", language: "zh", must: ["reminder mails", /2026-11-19/] },
  { ask: "谁的提案被打回得最多？", language: "zh", must: [/dana/i, 2] },
  {
    ask: "Chen 的变更平均多久才获批？",
    language: "zh",
    must: ["queue size", "login outage", "cache size", /7 ?小时 ?43 ?分/],
    mustNot: ["seat limit"],
  },
  {
    ask: "上周哪里出了岔子？现在还有什么没人拍板？",
    language: "zh",
    must: ["seat limit", "fewer mails", "data retention", "bundle price", "reminder mails", "guest checkout"],
    mustNot: ["trial length"],
  },
];
