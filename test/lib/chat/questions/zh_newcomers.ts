import type { Question } from "../../../support/questions.ts";

/** Twenty Chinese questions by people who are new to the service and have read its manual and the month alone. */
export const questions: readonly Question[] = [
  {
    ask: "早上好，有什么在等我处理吗？",
    by: "erin@acme.example",
    language: "zh",
    must: ["bundle price"],
  },
  {
    ask: "谁拒绝了 ui.dark_mode？理由是什么？",
    language: "zh",
    must: ["dark mode", /\bbo\b/i, /accessibility review/i],
  },
  {
    ask: "十月份有哪些变更被回滚了？",
    language: "zh",
    must: ["short form", "back-off"],
    mustNot: ["fewer mails", "queue size"],
  },
  {
    ask: "上周有哪些变更上线了？",
    language: "zh",
    must: ["onboarding tour", "mail loop"],
    mustNot: ["trial length", "reply time", "merge accounts", "export format"],
  },
  {
    ask: "Dana 十一月份提了哪些变更？",
    language: "zh",
    must: ["reply time", "onboarding tour", "export format", "guest checkout"],
    mustNot: ["dark mode", "lead scoring", "trial length", "seat limit"],
  },
  {
    ask: "租户 northwind 一共有多少个变更？",
    language: "zh",
    must: [8],
  },
  {
    ask: "到目前为止谁提出的变更最多？",
    language: "zh",
    must: [/\bdana\b/i],
  },
  {
    ask: "哪些变更批准了却还没有应用？",
    language: "zh",
    must: ["merge accounts", "seat limit"],
    mustNot: ["trial length", "onboarding tour", "lead scoring", "cache size"],
  },
  {
    ask: "审计日志有没有被人篡改过？",
    language: "zh",
    must: [/完整|有效|intact|valid/i],
    mustNot: [/不完整|无效|已损坏|invalid/i],
  },
  {
    ask: "cache.size 的批准是谁撤销的？为什么？",
    language: "zh",
    must: ["cache size", /\bana\b/i, /load test showed swapping/i],
  },
  {
    ask: "nrr_quarterly 现在是多少？年底的目标是多少？",
    language: "zh",
    must: ["nrr_quarterly", 1.05, 1.12],
  },
  {
    ask: "11月5日都发生了什么？",
    language: "zh",
    must: ["trial length", "cache size", "reply time"],
    mustNot: ["merge accounts", "price rounding", "onboarding tour"],
  },
  {
    ask: "Chen 上周都做了些什么？",
    language: "zh",
    must: ["fewer mails", "seat limit", "data retention", "mail loop"],
    mustNot: ["export format", "reminder mails", "bundle price", "guest checkout", "trial length"],
  },
  {
    ask: "limits.back_off 原本承诺改善哪个指标？改善多少？",
    language: "zh",
    must: ["back-off", "incident_rate", 0.01],
  },
  {
    ask: "哪个紧急变更还需要复核？谁可以复核？",
    language: "zh",
    must: ["mail loop", /\bbo\b/i],
    mustNot: ["login outage"],
  },
  {
    ask: "高风险的变更需要几个人同意？",
    language: "zh",
    must: [/(?<![\d.])2(?![\d.])|两|二/],
  },
  {
    ask: "哪些 KPI 的数据已经过期了？",
    language: "zh",
    must: ["deal_win_rate", "incident_rate"],
  },
  {
    ask: "现在有什么被冻结吗？",
    language: "zh",
    must: [/冻结/, /没有|未|无(?!法)/],
    mustNot: [/(没有?|未能?|不|无法)(理解|看懂|听懂|明白)/],
  },
  {
    ask: "租户 initech 还有什么在等批准吗？",
    language: "zh",
    must: ["initech", /没有|未找到|无(?!法)/],
    mustNot: ["data retention", "bundle price", "reminder mails", "guest checkout"],
  },
  {
    ask: "请帮我批准 pricing.bundle。",
    by: "erin@acme.example",
    language: "zh",
    must: ["bundle price", /countersign/i],
    mustNot: [/已(经)?(为您|为你|帮您|帮你)批准|批准成功/],
  },
];
