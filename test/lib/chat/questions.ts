/** The questions, with the changes of the month that their answers must name, and no others but those that they may. */
import { ANA, BO, CHEN, DANA, ERIN } from "../../support/month/who_and_what.ts";

export interface Case {
  question: string;
  /** Who asks. */
  by?: string;
  names: string[];
  /** Changes that may be named too. */
  also?: string[];
  /** What the answer must say beside. */
  says?: RegExp[];
}

const PENDING = ["data retention", "bundle price", "reminder mails", "guest checkout"];
const READY = ["merge accounts", "seat limit"];
const BY_DANA = [
  ...["guest checkout", "export format", "onboarding tour", "reply time", "lead scoring", "back-off", "beta search"],
  ...["dark mode", "privacy notice", "short form"],
];
const BY_BO = [
  "bundle price",
  "onboarding tour",
  "reply time",
  "lead scoring",
  "fewer mails",
  "discount cap",
  "short form",
];
const ROLLED_BACK = ["fewer mails", "back-off", "short form"];
const T1_LAST_WEEK = ["fewer mails", "bundle price", "mail loop", "guest checkout"];
const IN_OCTOBER = [
  ...["short form", "banner", "retry limit", "privacy notice", "discount cap", "lead routing", "queue size"],
  ...["fewer mails", "back-off", "login outage"],
];
const FAILED = ["queue size", "banner", "fewer mails", "seat limit"];
const none: string[] = [];

const ENGLISH: Case[] = [
  { question: "Is anything drifting?", names: ["banner"], says: [/One target drifts/] },
  {
    question: "Who approves most?",
    names: none,
    also: BY_BO,
    says: [/ana@acme\.example and bo@acme\.example and chen@acme\.example \(7 each\)/],
  },
  { question: "What is ready to apply?", names: READY },
  { question: "What did Dana propose?", names: BY_DANA, says: [/: 10\./] },
  { question: "Is the audit log intact?", names: none, says: [/is intact/, /90 entries/] },
  {
    question: "What waits for me?",
    by: ANA,
    names: ["reminder mails", "guest checkout"],
    also: ["data retention"],
    says: [/^2 changes wait/],
  },
  {
    question: "Anything that I still have to approve?",
    by: BO,
    names: ["data retention", "reminder mails", "guest checkout", "mail loop"],
    also: ["bundle price"],
    says: [/^3 changes wait/],
  },
  {
    question: "what is waiting for my approval",
    by: CHEN,
    names: ["reminder mails", "guest checkout"],
    also: ["data retention"],
    says: [/^2 changes wait/, /1 that they proposed themselves/],
  },
  { question: "What waits for Erin?", names: ["bundle price"], says: [/^1 change waits/] },
  {
    question: "Do I have to decide anything?",
    by: DANA,
    names: none,
    also: ["guest checkout", "reminder mails"],
    says: [/^No change waits/],
  },
  {
    question: "Why was the short form rolled back?",
    names: ["short form"],
    says: [/Sales could not reach leads without a phone number/, /chen@acme/],
  },
  {
    question: "Approve the data retention change",
    by: BO,
    names: ["data retention"],
    says: [/decides nothing/, /#\/changes\/chg_/, /countersign approve chg_/],
  },
  {
    question: "What happened last week in tenant t1?",
    names: T1_LAST_WEEK,
    says: [/from 2026-11-09 to 2026-11-15: 8 entries/],
  },
  { question: "Which changes were applied in October?", names: IN_OCTOBER, says: [/: 10\./] },
  { question: "How many changes are there per tenant?", names: none, says: [/t1 9, northwind 8, globex 6, initech 4/] },
  {
    question: "How many changes were proposed last month?",
    names: none,
    also: [...IN_OCTOBER, "dark mode", "weekly digest", "beta search", "lead scoring"],
    says: [/: 14\./],
  },
  {
    question: "Who denied dark mode?",
    names: ["dark mode"],
    says: [/bo@acme\.example: “Not before the accessibility review”/],
  },
  { question: "When was trial.days applied?", names: ["trial length"], says: [/applied on 2026-11-05 10:00/] },
  { question: "Who still has to approve the bundle price?", names: ["bundle price"], says: [/erin@acme\.example/] },
  { question: "Which high risk changes are pending?", names: ["data retention"] },
  { question: "What expired or lapsed?", names: ["beta search", "lead scoring"] },
  {
    question: "What failed last week?",
    names: ["fewer mails", "seat limit"],
    says: [/host unreachable/, /connection refused/],
  },
  { question: "Were any proposals refused?", names: none, says: [/billing\.invoice/, /agent:pricing/] },
  {
    question: "How many of Dana's proposals were applied?",
    names: ["onboarding tour", "reply time", "back-off", "privacy notice", "short form"],
    says: [/: 5\./],
  },
  { question: "What was rolled back by the guardrail?", names: ["back-off"] },
  { question: "Which reviews are due?", names: ["mail loop"], says: [/2026-11-17 22:10/, /bo@acme/] },
  {
    question: "Who may approve, and how many consents does a major change need?",
    names: none,
    says: [/ana@acme\.example, bo@acme\.example, chen@acme\.example/, /2 for a major/],
  },
  {
    question: "What is overdue?",
    names: ["data retention", "bundle price", "reminder mails", "mail loop", "banner"],
    also: READY,
    says: [/deal_win_rate/, /incident_rate/],
  },
  { question: "What did Zoe propose?", names: none, says: [/called “zoe”/] },
  { question: "How does our csat develop?", names: none, says: [/csat 4\.2/, /baseline 4, target 4\.6/] },
];

const CHINESE: Case[] = [
  { question: "有漂移吗？", names: ["banner"], says: [/1 个目标有漂移/] },
  { question: "谁批准得最多？", names: none, also: BY_BO, says: [/各 7 个/] },
  { question: "有哪些可以应用？", names: READY },
  { question: "Dana 提出了什么？", names: BY_DANA, says: [/：10 个/] },
  { question: "审计日志被篡改过吗？", names: none, says: [/完整/, /90 条/] },
  {
    question: "有什么在等我？",
    by: ANA,
    names: ["reminder mails", "guest checkout"],
    also: ["data retention"],
    says: [/^2 个变更等待/],
  },
  {
    question: "有什么需要我批准的吗？",
    by: BO,
    names: ["data retention", "reminder mails", "guest checkout", "mail loop"],
    also: ["bundle price"],
    says: [/^3 个变更等待/],
  },
  { question: "哪些变更等我决定？", by: ERIN, names: ["bundle price"], says: [/^1 个变更等待/] },
  { question: "为什么回滚了 signup.short_form？", names: ["short form"], says: [/Sales could not reach leads/] },
  { question: "请批准 data.retention", by: BO, names: ["data retention"], says: [/不作决定/, /#\/changes\/chg_/] },
  { question: "上周租户 t1 发生了什么？", names: T1_LAST_WEEK, says: [/2026-11-09 至 2026-11-15：8 条/] },
  { question: "十月份应用了哪些变更？", names: IN_OCTOBER, says: [/：10 个/] },
  { question: "每个租户有多少变更？", names: none, says: [/t1 9，northwind 8，globex 6，initech 4/] },
  {
    question: "上个月提出了多少变更？",
    names: none,
    also: [...IN_OCTOBER, "dark mode", "weekly digest", "beta search", "lead scoring"],
    says: [/：14 个/],
  },
  { question: "谁拒绝了 ui.dark_mode？", names: ["dark mode"], says: [/bo@acme\.example/] },
  { question: "trial.days 是什么时候应用的？", names: ["trial length"], says: [/2026-11-05 10:00 应用/] },
  { question: "pricing.bundle 还在等谁批准？", names: ["bundle price"], says: [/erin@acme\.example/] },
  { question: "哪些高风险变更待审批？", names: ["data retention"] },
  { question: "哪些变更过期了？", names: ["beta search", "lead scoring"] },
  { question: "什么失败了？", names: FAILED, says: [/disk full/] },
  { question: "有提案被拦下吗？", names: none, says: [/billing\.invoice/] },
  { question: "哪些变更被回滚了？", names: ROLLED_BACK },
  { question: "哪些变更由护栏回滚？", names: ["back-off"] },
  { question: "哪些紧急变更还要复核？", names: ["mail loop"], says: [/2026-11-17 22:10/] },
  { question: "谁可以批准变更？", names: none, says: [/ana@acme\.example、bo@acme\.example、chen@acme\.example/] },
  { question: "什么是禁止更改的？", names: none, says: [/billing/] },
  { question: "有哪些待审批的变更？", names: PENDING },
  { question: "昨天发生了什么？", names: ["guest checkout"], says: [/2026-11-15：1 条/] },
  { question: "Bo 批准了哪些变更？", names: BY_BO, says: [/：7 个/] },
  { question: "指标 csat 怎么样？", names: none, says: [/csat 4\.2/] },
];

export const CASES: Case[] = ENGLISH.flatMap((one, index) => [one, CHINESE[index]!]);
