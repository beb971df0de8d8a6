/** Chinese for changes, entries and what waits. */
import type { Entry } from "../../follow/entries.ts";
import { lateOn } from "../../governance/rules/late_items.ts";
import { type Missing, QUORUM } from "../../governance/rules/missing.ts";
import { label, quote } from "../../kit/quote.ts";
import { dayIn } from "./days.ts";
import type { records as english } from "./en_records.ts";
import { figure } from "./figure.ts";
import { standing, verdict } from "./zh_query.ts";

const EVENTS: Partial<Record<Entry["event_type"], string>> = {
  kpi_refreshed: "更新 KPI",
  change_proposed: "提出",
  change_applied: "应用",
  change_rolled_back: "回滚",
  change_apply_failed: "应用失败",
  change_rollback_failed: "回滚失败",
  change_drifted: "发现漂移",
  proposal_refused: "提案被拒收",
  intent_in_force: "意图生效",
  emergency_reviewed: "紧急变更复核",
  service_frozen: "冻结",
  service_unfrozen: "解除冻结",
  record_rebuilt: "由日志重建记录",
  clock_accepted: "接受时钟",
  content_erased: "内容已抹除",
  note_added: "补充说明",
  store_moved: "存储已迁移",
  loss_accepted: "接受日志末尾丢失",
};
const DECISIONS: Record<string, string> = {
  approved: "批准",
  denied: "拒绝",
  withdrawn: "撤回",
  expired: "过期",
  revoked: "撤销同意",
  lapsed: "失效",
};

const deedOf = ({ event_type, facts }: Entry): string =>
  event_type === "consent_decision"
    ? `${facts.emergency ? "紧急" : ""}${DECISIONS[facts.decision ?? ""] ?? "决定"}`
    : (EVENTS[event_type] ?? event_type);

const whoMay = ({ rule, count, of }: Missing): string =>
  `还需 ${count} 个同意${of.length === 0 ? "，任何有权批准的人均可" : `，来自 ${of.map(label).join(" 或 ")}`}${rule === QUORUM ? "" : `（${rule}）`}`;

function factsOf({ event_type, facts }: Entry, who: string | null): string {
  const evidence = (facts as { evidence?: { kpi: string; regression: number; max_regression: number } }).evidence;
  const values = Object.entries(facts.values ?? {}).map(([kpi, value]) => `${kpi} ${value}`);
  return [
    who === null || event_type === "kpi_refreshed" ? "" : `，${label(who)}`,
    facts.code ? `（${facts.code}，目标 ${label(facts.target ?? "")}）` : "",
    values.length > 0 ? `：${values.join("，")}` : "",
    facts.error ? `：${quote(facts.error, 200)}` : "",
    evidence ? `：${evidence.kpi} 变差 ${figure(evidence.regression)}，允许 ${figure(evidence.max_regression)}` : "",
    facts.note ? `：${quote(facts.note, 300)}` : "",
    facts.until ? `，至 ${dayIn(facts.until)}` : "",
  ].join("");
}

const saidLate = (late: ReturnType<typeof lateOn>): string =>
  late
    ? `；${late.actor === null ? "" : `${label(late.actor)} `}事后于 ${dayIn(late.at)} 补充：${quote(late.note, 500)}`
    : "";

const TITLES: Partial<Record<string, string>> = {
  failures: "失败与漂移",
  unnoted: "没有附注的同意",
  proposal_refused: "被拒收的提案",
  consent_decision: "决定",
  change_drifted: "漂移记录",
  emergency_reviewed: "紧急变更的复核",
  service_frozen: "冻结记录",
};

export const records: typeof english = {
  whichChange: (newest) =>
    newest.length === 0
      ? "还没有任何变更。"
      : `请说明是哪个变更（ID、目标或摘要中的词）。最新的有：${newest.map(({ change_id, target }) => `${label(target)}（${change_id}）`).join("；")}。`,
  change: ({
    change_id,
    target,
    tenant_id,
    summary,
    rationale,
    kind,
    tier,
    risk,
    proposer,
    asked_by,
    created_at,
    late_notes,
    ...rest
  }) =>
    [
      `${change_id}，目标 ${label(target)}，租户 ${label(tenant_id)}（${kind}，${tier}，风险 ${risk}）：${quote(summary, 200)}。${standing(rest)}。`,
      `${proposer === null ? "" : `由 ${label(proposer)} `}${asked_by ? `应 ${label(asked_by)} 要求` : ""}于 ${dayIn(created_at)} 提出。理由：${rationale ? quote(rationale, 500) : `未给出${saidLate(lateOn({ late_notes }, "rationale"))}`}。`,
    ].join("\n"),
  step: (entry, who) =>
    entry.event_type === "change_proposed"
      ? []
      : [`- ${dayIn(entry.timestamp)} ${deedOf(entry)}${factsOf(entry, who)}（审计条目 ${entry.id}）`],
  summaryOf: ({ change_id, target, tenant_id, summary, ...change }) =>
    `- ${change_id} ${label(target)}（${label(tenant_id)}），${quote(summary, 120)}：${standing(change)}`,
  outcome: ({ kpi, expected_delta_k, realised_delta, verdict: of, shared_count, scope }) =>
    kpi === null
      ? "未指明 KPI，因此没有结论。"
      : `${kpi}：预期 ${figure(expected_delta_k, "无数据")}，实际 ${figure(realised_delta, "无数据")}，${verdict(of)}${shared_count > 0 ? `，与另外 ${shared_count} 个变更共享` : ""}${scope === "product" ? "，整个产品的 KPI" : ""}（仅为相关性）。`,
  blocked: (messages) => `阻碍：${messages.join("；")}。`,
  missing: (id, missing, page) => `${id} ${missing.map(whoMay).join("；")}。${page}`,
  approvedAlready: (name, at) => `${label(name)} 已于 ${dayIn(at)} 批准过`,
  deadline: (status, at) => `将于 ${dayIn(at)} ${status === "approved" ? "失效" : "过期"}。`,
  lacksNothing: (change) => `${change.change_id} 不等待任何人的同意：${standing(change)}。`,
  others: (ids) => `其他符合的变更：${ids.join("、")}。`,
  mayApprove: (name, { change_id, status }, page) =>
    status === "pending_consent" || status === "approved"
      ? `可以，${label(name)} 有权批准 ${change_id}：${page}`
      : `按意图 ${label(name)} 有权决定 ${change_id}，但它已不再等待同意。`,
  mayNot: (_name, { change_id }, why) => `不可以批准 ${change_id}：${why}。`,
  holds: ({ change_id, value }) =>
    value === undefined ? "" : `  ${change_id} 设为 ${quote(JSON.stringify(value), 200)}`,

  pending: (count) => (count === 0 ? "没有待审批的变更。" : `${count} 个变更待审批：`),
  approved: (count) => (count === 0 ? "" : `${count} 个已批准的变更待应用：`),
  ready: (count) => (count === 0 ? "没有可以应用的变更。" : `可以应用：${count} 个`),
  held: (count) => `已批准但有阻碍：${count} 个`,
  waiting: ({ change, until, missing, blocked_by }) => {
    const { change_id, target, tenant_id, tier, risk, summary, proposer, approvals, created_at } = change;
    const given = [...new Set(approvals.map(({ approver }) => label(approver)))];
    const gates = blocked_by
      .filter(({ gate }) => gate !== "consent" && gate !== "owners")
      .map(({ message }) => message);
    return [
      `- ${change_id} ${label(target)}（${label(tenant_id)}），${tier}，风险 ${risk}：${quote(summary, 120)}，${proposer === null ? "" : `由 ${label(proposer)} `}于 ${dayIn(created_at)} 提出`,
      `（已有 ${given.length} / ${change.required_approvers} 个同意${given.length > 0 ? `：${given.join("、")}` : ""}）`,
      missing.length > 0 ? `；${missing.map(whoMay).join("；")}` : "",
      gates.length > 0 ? `；阻碍：${gates.join("；")}` : "",
      until === null ? "" : `；${dayIn(until)} ${change.status === "approved" ? "失效" : "过期"}`,
    ].join("");
  },
  reviews: (count) => (count === 0 ? "没有到期的紧急复核。" : `${count} 个紧急变更待复核：`),
  reviewers: (able) => (able ? `  可由 ${able.map(label).join(" 或 ") || "无人"} 复核` : "  任何未参与的人均可复核"),
  reviewDue: ({ change_id, target, review, summary }) =>
    `- ${change_id} ${label(target)}，${quote(summary, 120)}：紧急同意须在 ${dayIn(review?.due_at ?? "")} 前复核`,
  waitsFor: (person, count, of) =>
    count === 0
      ? `没有变更${of}在等待 ${label(person)} 的同意。`
      : `${count} 个变更${of}等待 ${label(person)} 的同意：`,
  waitsNot: (person, { own, done, others }, of) => {
    const ids = (of: typeof own): string =>
      of
        .slice(0, 5)
        .map(({ change_id, target }) => `${change_id} ${label(target)}`)
        .join("、");
    const parts = [
      own.length > 0 ? `${own.length} 个由其本人提出（${ids(own)}）` : "",
      done.length > 0 ? `${done.length} 个已由其批准（${ids(done)}）` : "",
      others > 0 ? `${others} 个只能由其他人决定` : "",
    ].filter(Boolean);
    return parts.length === 0 ? "" : `待审批${of}但不等待 ${label(person)}：${parts.join("；")}。`;
  },
  approvedToo: (count) => `另有 ${count} 个已批准的变更等待有权应用的人：可以问有哪些可以应用。`,
  whoAsks: "不知道是谁在问，因此列出等待任何人的变更。请附上 author 以了解等待您的变更。",

  events: ({ query, who, days, what }, total) =>
    `${TITLES[what] ?? "日志记载"}${query}${who === undefined ? "" : `，${[who].flat().map(label).join(" 或 ")} 所做`}${days === "" ? "" : `，${days.trim()}`}：${total === 0 ? "无" : `${total} 条`}。`,
  eventCounts: (counts) =>
    `${Object.entries(counts)
      .map(
        ([type, count]) =>
          `${EVENTS[type as Entry["event_type"]] ?? (type === "consent_decision" ? "决定" : type)} ${count}`,
      )
      .join("，")}。`,
  newestEvents: (count) => `以下为最新 ${count} 条；全部：countersign audit list`,
  lookedAtEntries: (count) => `只查看了这些日期内最新的 ${count} 条。`,
  event: (entry, who, change) =>
    `- ${dayIn(entry.timestamp)} ${deedOf(entry)}${factsOf(entry, who)}${change ? `；${change.change_id} ${label(change.target)}（${label(change.tenant_id)}），${quote(change.summary, 120)}` : ""}（审计条目 ${entry.id}）`,
  due: (of, count) => `到期事项${of}，最近的在前：${count === 0 ? "无" : `${count} 项`}。`,
  dueIn: (days) => `（${days.trim()} 到期）`,
  dueChange: (at, is, { change_id, target, tenant_id, summary }) =>
    `- ${dayIn(at)} ${is === "review" ? "紧急同意须复核" : is === "consent" ? "若无同意将过期" : "若未应用将失效"}：${change_id} ${label(target)}（${label(tenant_id)}），${quote(summary, 120)}`,
  dueGoal: (at, kpi) => `- ${dayIn(at)} ${label(kpi)} 目标的截止时间`,
  drift: (count, checked_at, of) =>
    `${of}${count === 0 ? "没有漂移" : `${count} 个目标有漂移`}${checked_at === null ? "；尚未检查过" : `（${dayIn(checked_at)} 检查）`}。`,
  noDriftCheck: "没有连接宿主产品的适配器，因此不检查漂移。",
  driftRow: ({ change_id, target, tenant_id, state, since }) =>
    `- ${change_id} ${label(target)}（${label(tenant_id)}）：自 ${dayIn(since)} 起${state === "missing" ? "在宿主上缺失" : "漂移"}`,
};
