/** Chinese for the state, the log, figures, tasks, peers and the policy, and for what is not understood. */
import type { MemoryKind } from "../../follow/memory.ts";
import type { Change } from "../../governance/rules/change.ts";
import { label, quote } from "../../kit/quote.ts";
import { dayIn } from "./days.ts";
import type { topics as english } from "./en_topics.ts";
import { figure as plain } from "./figure.ts";

type Status = Change["status"];

const STATUS: Record<Status, string> = {
  proposed: "已提出",
  pending_consent: "待审批",
  approved: "已批准",
  applied: "已应用",
  rolled_back: "已回滚",
  denied: "已拒绝",
};
const MEMORY: Record<MemoryKind, string> = {
  proposal: "提案",
  decision: "决定",
  outcome: "执行",
  verdict: "结论",
  rollback: "回滚",
  kpi: "指标",
  feedback: "反馈",
  insight: "见解",
  chat: "对话",
};
const GOALS: Record<string, string> = {
  no_data: "无数据",
  stale: "陈旧",
  behind: "落后",
  under_way: "优于基线",
  on_track: "正常",
  met: "已达成",
};
const VERBS: Record<string, string> = {
  approve: "批准",
  deny: "拒绝",
  apply: "应用",
  rollback: "回滚",
  withdraw: "撤回",
  revoke: "撤销同意",
  freeze: "冻结",
  unfreeze: "解冻",
  kpi: "录入 KPI",
  propose: "提出变更",
};
const names = (of: readonly string[]): string => of.map(label).join("、");
const figure = (value: number | null): string => plain(value, "无数据");

export const topics: typeof english = {
  off: "产品运行时未启用：没有变更、KPI 和审计日志。请用 --product-intent PATH 启动服务来启用它。聊天、任务和监控可用。",
  help: "可以问我变更：哪些、谁、多少、何时、为什么，可按人员、租户、目标、类型、风险、状态、结论或日期（昨天、上周、周一以来、2026-11-03）；什么在等待、等谁；什么可以应用、漂移、失败、未兑现承诺；日志是否完整；KPI 与目标；什么逾期；任务；现行规则。我不作任何决定。",
  notUnderstoodAtAll: "我没有理解这个问题。",
  notOnRecord: (words) =>
    `记录中没有名为${words.map((word) => quote(word, 60)).join("或")}的人、租户、目标或 KPI，也没有变更提到它。`,
  nothingLeft: (words) => (words.length === 0 ? "" : `我不理解${words.map((word) => quote(word, 60)).join("、")}。`),
  examples: ({ target, tenant, person }) =>
    `这里可以问，例如：${[
      target === null ? "有哪些待审批的变更？" : `为什么改 ${label(target)}？`,
      tenant === null ? "审计日志完整吗？" : `上周租户 ${label(tenant)} 发生了什么？`,
      person === null ? "谁可以批准？" : `${label(person)} 提出了什么？`,
    ].join(" – ")}`,
  narrower: "请问得更具体，例如某个租户或某一周",

  state: ({ tick, E, M, R, N, tasks }) =>
    `第 ${tick} 周期。E ${figure(E)}，M ${figure(M)}，R ${figure(R)}，N ${figure(N)}。任务：排队 ${tasks.queued}，运行中 ${tasks.running}，完成 ${tasks.completed}，失败 ${tasks.failed}。`,
  product: ({ identity, intent, changes, audit, drift }) => {
    const counts = (Object.keys(STATUS) as Status[])
      .filter((status) => changes[status])
      .map((status) => `${STATUS[status]} ${changes[status]}`);
    const adapter = intent.adapter ? `${intent.adapter.name}，${intent.adapter.status}` : "无";
    return [
      `${identity.product_id} ${intent.version}：${counts.length > 0 ? `变更 ${counts.join("，")}` : "还没有变更"}。`,
      `最近一次 KPI：${intent.last_kpi_at ?? "无"}。适配器：${adapter}。漂移：${drift ?? "未检查"}。`,
      audit.breach
        ? `审计链在第 ${audit.breach.first_invalid} 条处不成立，写入已被拒绝。`
        : `审计日志共 ${audit.length} 条。`,
    ].join("\n");
  },

  log: ({ length, hash, breach, checked }) =>
    [
      breach
        ? `审计日志不成立：第 ${breach.first_invalid} 条起有问题（${breach.reason}）。写入已被拒绝。`
        : checked
          ? `审计日志完整：第 1 至 ${checked.length} 条已校验并成立。`
          : "未发现审计日志有问题；它很长，本进程尚未全部校验：countersign audit verify。",
      `共 ${length} 条${hash === "" ? "" : `，链头 ${hash}`}。`,
    ].join("\n"),
  checkpoint: ({ length, root, at }) => `最新检查点覆盖 ${length} 条，根 ${root}，于 ${dayIn(at)} 生成。`,
  noCheckpoint: "尚未生成检查点。",
  misfits: (ids) => `与日志不符的记录：${ids.join("、")}。`,

  noKpis: "还没有任何 KPI 数据。",
  effect: (value) => `E 为 ${figure(value)}。`,
  kpi: ({ kpi, value, at, baseline, target, attainment, reason }, goal, stale) =>
    `- ${kpi} ${value}，${dayIn(at)}${attainment === null ? `（不计入：${reason}）` : `，基线 ${baseline}，目标 ${target}，达成度 ${figure(attainment)}`}${goal ? `，目标${GOALS[goal.status] ?? goal.status}${goal.progress === null ? "" : `，进度 ${figure(goal.progress)}${goal.status === "met" || target === null ? "" : `，还差 ${figure(Math.abs(target - value))}`}`}` : ""}${stale ? "，已陈旧：超过 7 天未更新" : ""}`,
  unfedKpis: (stale, never) => `超过 7 天未更新的 KPI：${stale || "无"}；从未录入的：${never || "无"}。`,
  unfed: (kpi) => `- ${kpi}：还没有数据`,
  need: ({ value, open, overdue, items }) =>
    [
      `N 为 ${figure(value)}：${open} 项未结中 ${overdue} 项逾期。`,
      ...items.map((item) => `- ${item.item}：${item.open} 项中 ${item.overdue} 项逾期`),
    ].join("\n"),
  overduePending: (count) => `等待同意超过 24 小时：${count} 个`,
  stale: (kpis) => `陈旧的 KPI：${kpis.join("、")}。`,
  tasks: ({ queued, running, completed, failed }) =>
    `任务：排队 ${queued}，运行中 ${running}，完成 ${completed}，失败 ${failed}。`,
  task: ({ task_id, title, status, priority, created_at, feedback }) =>
    `- ${task_id} ${quote(title, 120)}：${status}，优先级 ${priority}，${dayIn(created_at)} 提交${feedback.length > 0 ? `，评分 ${feedback.map(({ rating }) => rating).join("、")}` : ""}`,
  peers: (count) => (count === 0 ? "没有已知的对等节点。" : `${count} 个对等节点：`),
  peer: ({ state, log, instance_id, address }) => `- ${label(instance_id ?? address ?? "节点")}：${state}，日志 ${log}`,
  noLink: "这里没有与其他实例的连接。",

  intent: ({ product_id, version, approved_by }) =>
    `现行意图为 ${label(product_id)} ${label(version)}，由 ${label(approved_by)} 批准。`,
  whoMayApprove: (electors) =>
    electors
      ? `可批准任何变更的人：${electors.length === 0 ? "无" : names(electors)}。`
      : "任何报上姓名的人都可批准，代理除外。",
  howManyNeeded: ({ required_approvers: { standard, major } }) =>
    `所需同意：standard 变更 ${standard} 个，major 变更（高风险、不可逆或以 major 提出）${major} 个。`,
  selfApproval: (allowed) => (allowed ? "提出者可以批准自己的变更。" : "任何人都不得批准自己的变更。"),
  owners: ({ targets, approvers, required }) =>
    `${names(targets)} 还需其负责人中 ${required} 人同意：${names(approvers)}。`,
  breakGlass: (rule) =>
    rule
      ? `紧急情况下 ${names(rule.approvers)} 中 ${rule.required} 人可批准，须在 ${rule.review_hours} 小时内复核。`
      : "没有紧急同意。",
  forbidden: (targets) => (targets.length === 0 ? "没有禁止的目标。" : `禁止更改的目标：${names(targets)}。`),
  isForbidden: (target, banned) => `${label(target)} ${banned ? "被禁止" : "未被禁止"}。`,
  minor: (rule) =>
    rule
      ? `minor 变更无需同意：${rule.kinds.join("、") || "无类型"}，目标 ${names(rule.targets) || "无"}，风险至多 ${rule.max_risk}${rule.max_affected_users === undefined ? "" : `，至多 ${rule.max_affected_users} 个用户`}${rule.max_per_day === undefined ? "" : `，每天至多 ${rule.max_per_day} 个`}。`
      : "所有变更都需要同意：没有 minor 变更。",
  timeLimits: ({ consent_ttl_hours, approval_ttl_hours }) =>
    `待审批的变更${consent_ttl_hours === undefined ? "永不过期" : `在 ${consent_ttl_hours} 小时后过期`}；已批准未应用的变更${approval_ttl_hours === undefined ? "永不失效" : `在 ${approval_ttl_hours} 小时后失效`}。`,
  guardrails: (rules) =>
    rules.length === 0
      ? "没有护栏。"
      : `护栏：${rules.map(({ kpi, max_regression, action }) => `${kpi} 变差超过 ${max_regression}：${action}`).join("；")}。`,
  freeze: (freeze) =>
    freeze
      ? `${label(freeze.actor)} 自 ${dayIn(freeze.at)} 起冻结应用，${freeze.until === null ? "直到有人解除" : `至 ${dayIn(freeze.until)}`}${freeze.note ? `：${quote(freeze.note, 200)}` : ""}。`
      : "目前没有冻结。",
  frozenThen: (actor, { from, to }, note) =>
    `${actor === null ? "" : `${label(actor)} 于 `}${dayIn(from)} 至 ${dayIn(to)} 冻结应用${note === "" ? "" : `：${quote(note, 200)}`}。`,
  windows: ({ allow, deny }) =>
    allow.length + deny.length === 0
      ? "没有设置窗口：随时可以应用。"
      : [
          ...allow.map(({ days, from, to, tz }) => `可在 ${days.join("、")} ${from} 至 ${to}（${tz}）应用。`),
          ...deny.map(
            ({ from, to, reason }) => `${from} 至 ${to} 不可应用${reason ? `：${quote(reason, 200)}` : ""}。`,
          ),
        ].join("\n"),

  decidesNothing: (verb) => `聊天不作决定，也不执行：无法${VERBS[verb] ?? verb}。请由人来做：`,
  whereToAct: (page, verb) => `${page}\ncountersign ${verb} --help`,
  noneNamed: "记录中没有这样的变更。",

  remembered: "记忆中：",
  memory: ({ at, kind, basis, author, text }) =>
    `- ${at.slice(0, 10)}，${MEMORY[kind]}${basis === "said" ? "，未经核实" : author === null ? "" : `（${label(author)}）`}：${text}`,
  modelFailed: (reason) => `语言模型没有回答（${reason}），以下答案来自记录。`,
};
