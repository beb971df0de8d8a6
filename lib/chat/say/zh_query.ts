/** Chinese for queries: which changes were asked for, what was found, and how far was looked. */
import type { Change, Resolution, Status } from "../../governance/rules/change.ts";
import type { Verdict } from "../../governance/rules/outcome.ts";
import { label, quote } from "../../kit/quote.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Dimension } from "../../pulse/query/groups.ts";
import type { Event, Role } from "../../pulse/query/row.ts";
import { dayIn, lastDayIn } from "./days.ts";
import { isPlain, isSaid, type queries as english } from "./en_query.ts";

const STATUS: Record<Status, string> = {
  proposed: "已提出",
  pending_consent: "待审批",
  approved: "已批准待应用",
  applied: "已应用",
  rolled_back: "已回滚",
  denied: "已拒绝",
};
const ENDED: Record<Resolution, string> = {
  denied: "已拒绝",
  withdrawn: "已撤回",
  expired: "已过期，无人决定",
  revoked: "已撤销同意",
  lapsed: "批准后已失效",
};
const EVENT: Record<Event, string> = {
  proposed: "提出",
  consented: "给予同意",
  decided: "决定",
  approved: "批准",
  denied: "未应用而结束",
  applied: "应用",
  rolled_back: "回滚",
  closed: "结束",
};
const ROLE: Record<Role, (name: string) => string> = {
  proposer: (name) => `由 ${name} 提出`,
  asker: (name) => `${name} 让模型起草`,
  approver: (name) => `由 ${name} 批准`,
  denier: (name) => `由 ${name} 拒绝`,
  decider: (name) => `由 ${name} 决定`,
  either: (name) => `与 ${name} 有关`,
};
const BY: Partial<Record<Dimension, string>> = {
  tenant_id: "租户",
  status: "状态",
  risk: "风险",
  kind: "类型",
  tier: "等级",
  target: "目标",
  week: "周",
  day: "日",
  month: "月",
  proposer: "提出人",
  approver: "批准人",
  denier: "拒绝人",
  decider: "决定人",
  verdict: "结论",
  proposer_kind: "提出者类型",
};

const all = <T>(asked: T | readonly T[]): readonly T[] => (Array.isArray(asked) ? asked : [asked as T]);
const or = (names: readonly string[]): string => names.map(label).join(" 或 ");

/** `2026-11-03`、`2026-11-09 至 2026-11-15`、`2026-11-16 起` */
export function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }): string {
  if (from === undefined) return to === undefined ? "" : ` ${dayIn(to)} 之前`;
  if (to === undefined) return ` ${dayIn(from)} 起`;
  const last = lastDayIn(to);
  return dayIn(from) === last ? ` ${last}` : ` ${dayIn(from)} 至 ${last}`;
}

const countsOf = ({ from, to }: NonNullable<ChangeFilter["affected_users"]>): string =>
  `影响${[from === undefined ? "" : `至少 ${from}`, to === undefined ? "" : `至多 ${to}`].filter(Boolean).join("、")} 人`;

export const standing = ({ status, resolution }: Pick<Change, "status" | "resolution">): string =>
  status === "denied" && resolution !== null ? ENDED[resolution] : STATUS[status];

const VERDICT: Record<Verdict, string> = {
  met: "兑现承诺",
  missed: "未兑现承诺",
  regressed: "变差",
  inconclusive: "尚无结论",
  too_early: "为时过早",
};
export const verdict = (of: Verdict): string => VERDICT[of];

export const queries: typeof english = {
  query(filter) {
    const { person, period, resolution, status, text } = filter;
    const parts = [
      filter.change_id === undefined ? "" : all(filter.change_id).join("、"),
      filter.tenant_id === undefined ? "" : `租户 ${or(all(filter.tenant_id))}`,
      filter.target === undefined ? "" : `目标 ${or(all(filter.target))}`,
      filter.kind === undefined ? "" : `类型 ${or(all(filter.kind))}`,
      filter.tier === undefined ? "" : `等级 ${or(all(filter.tier))}`,
      filter.risk === undefined ? "" : `风险 ${or(all(filter.risk))}`,
      filter.kpi === undefined ? "" : `关于 ${or(all(filter.kpi))}`,
      filter.proposer_kind === undefined ? "" : `提出者为 ${or(all(filter.proposer_kind))}`,
      person === undefined ? "" : ROLE[person.as](or(all(person.name))),
      text === undefined ? "" : `提到${quote(text)}`,
      filter.verdict === undefined ? "" : `结论为${all(filter.verdict).map(verdict).join("或")}`,
      filter.drifted ? "有漂移" : "",
      filter.reversible === undefined ? "" : filter.reversible ? "可以撤销" : "不可撤销",
      filter.reasoned === undefined ? "" : filter.reasoned ? "给出理由" : "没有给出理由",
      filter.affected_users === undefined ? "" : countsOf(filter.affected_users),
      filter.emergency ? "紧急批准" : "",
      status === undefined
        ? ""
        : all(status)
            .map((one) => STATUS[one])
            .join("或"),
      resolution === undefined
        ? ""
        : all(resolution)
            .map((one) => ENDED[one])
            .join("或"),
      period === undefined || isPlain(filter)
        ? ""
        : `${daysOf(period).trim()}${isSaid(filter) ? "" : EVENT[period.of]}`,
    ].filter(Boolean);
    return parts.length === 0 ? "全部变更" : `变更（${parts.join("，")}）`;
  },
  by: (name) => `（${or(all(name))} 所做）`,
  oneOf: (order, query, total) =>
    total === 0 ? queries.title(query, 0) : `${query}，${total} 个中最${order === "newest" ? "新" : "早"}的：`,
  about: (filter) => (queries.query(filter) === "全部变更" ? "" : queries.query(filter).slice("变更".length)),
  title: (query, total) => `${query}：${total === 0 ? "无" : `${total} 个`}。`,
  looked: (looked) => `只查看了最新的 ${looked} 个变更；更早的不在本回答中。`,
  more: (count, how) => `另有 ${count} 个：${how}`,
  notUnderstood: (words) => `没有理解、因此未计入本回答：${words.map((word) => quote(word, 60)).join("、")}。`,
  notAnswered: (questions) => `这里没有回答，请单独问：${questions.map((one) => quote(one, 120)).join("、")}。`,
  leftOut: (words) => `能理解、但未计入本回答：${words.map((word) => quote(word, 60)).join("、")}。`,
  noChange: (ids) => `记录中没有 ID 为 ${ids.join("、")} 的变更。`,
  row({ change, outcome, drift }) {
    const { change_id, target, tenant_id, summary, proposer, asked_by, approvals, resolution } = change;
    const approvers = [...new Set(approvals.map(({ approver }) => label(approver)))];
    const life = [
      `${proposer === null ? "" : `由 ${label(proposer)} `}${asked_by ? `应 ${label(asked_by)} 要求` : ""}于 ${dayIn(change.created_at)} 提出`,
      approvers.length > 0 ? `${approvers.join("、")} 批准` : "",
      change.applied_at === null ? "" : `${dayIn(change.applied_at)} 应用`,
      change.rolled_back_at === null ? "" : `${dayIn(change.rolled_back_at)} 回滚`,
      change.status === "denied" && change.decided_at !== null
        ? `${dayIn(change.decided_at)} ${ENDED[resolution ?? "denied"]}${noted(change)}`
        : "",
      outcome?.kpi ? `${outcome.kpi}：${verdict(outcome.verdict)}` : "",
      drift ? `自 ${dayIn(drift.since)} 起${drift.state === "missing" ? "在宿主上缺失" : "漂移"}` : "",
    ];
    return `- ${change_id} ${label(target)}（${label(tenant_id)}），${change.tier}，风险 ${change.risk}，${quote(summary, 120)}：${standing(change)}；${life.filter(Boolean).join("，")}`;
  },
  counts: (by, groups) =>
    `按${BY[by] ?? by}：${groups.map(({ key, count }) => `${by === "status" ? (STATUS[key as Status] ?? key) : label(key)} ${count}`).join("，")}。`,
  most(deed, groups, days) {
    const [first] = groups;
    if (!first) return `${days.trim()}没有人${deed}任何变更。`;
    const leaders = groups.filter(({ count }) => count === first.count).map(({ key }) => label(key));
    return `${days.trim()}${deed}最多的是 ${leaders.join(" 和 ")}（${leaders.length > 1 ? "各 " : ""}${first.count} 个）。全部：${groups.map(({ key, count }) => `${label(key)} ${count}`).join("，")}。`;
  },
  deeds: {
    proposed: "提出",
    approved: "批准",
    denied: "拒绝",
    decided: "决定",
    applied: "应用",
    rolled_back: "回滚",
    withdrawn: "撤回",
    revoked: "撤销",
    expired: "过期",
    lapsed: "失效",
    closed: "结束",
  },
};

function noted({ approver, approval_note, resolution }: Change): string {
  const by = approver === null || resolution === "expired" || resolution === "lapsed" ? "" : `，${label(approver)}`;
  return `${by}${approval_note ? `：${quote(approval_note, 200)}` : ""}`;
}
