/** The built-in responder's Chinese. */
import type { Change } from "../governance/rules/change.ts";
import type { Phrases } from "./phrases_en.ts";

type Status = Change["status"];

const share = (value: number | null): string => (value === null ? "无数据" : String(Number(value.toFixed(3))));
const STATUS: Record<Status, string> = {
  proposed: "已提出",
  pending_consent: "待审批",
  approved: "已批准",
  applied: "已应用",
  rolled_back: "已回滚",
  denied: "已拒绝",
};

export const ZH: Phrases = {
  off: "产品运行时未启用：没有变更、KPI 和审计日志。请用 --product-intent PATH 启动服务来启用它。聊天、任务和监控可用。",
  help: "可以问我：状态；有哪些待审批；某个变更的原因（请给出它的 ID 或目标）；KPI 指标；哪些失败了。其他问题我会在记忆里查找。",
  nothingFound: "在记录和记忆里都没有找到相关内容。",
  whichChange: (recent) =>
    recent.length === 0
      ? "还没有任何变更。"
      : `请说明是哪个变更（ID 或目标）。最新的有：${recent.map(({ change_id, target }) => `${target}（${change_id}）`).join("；")}。`,

  state: ({ tick, E, M, R, N, tasks }) =>
    `第 ${tick} 周期。E ${share(E)}，M ${share(M)}，R ${share(R)}，N ${share(N)}。任务：排队 ${tasks.queued}，运行中 ${tasks.running}，完成 ${tasks.completed}，失败 ${tasks.failed}。`,
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

  pending: (count) => (count === 0 ? "没有待审批的变更。" : `${count} 个变更待审批：`),
  approved: (count) => (count === 0 ? "" : `${count} 个已批准的变更待应用：`),
  waiting: ({ change_id, target, tier, summary, approvals, required_approvers }) =>
    `- ${change_id} ${target}，${tier}：${summary}（已有 ${approvals.length} / ${required_approvers} 个同意）`,
  more: (count) => `- 另有 ${count} 个`,

  change: ({ change_id, target, tenant_id, summary, status, resolution, rationale, proposer, created_at }) =>
    [
      `${change_id}，目标 ${target}，租户 ${tenant_id}：${summary}。${STATUS[status]}${resolution && resolution !== "denied" ? `（${resolution}）` : ""}。`,
      `${proposer === null ? "" : `由 ${proposer} `}于 ${created_at} 提出。理由：${rationale || "未给出"}。`,
    ].join("\n"),
  decided: ({ approver, approval_note, status }) =>
    `最近的决定：${approver} ${status === "denied" ? "拒绝" : "批准"}${approval_note ? `：${approval_note}` : "，没有附注"}。`,
  blocked: (messages) => `阻碍：${messages.join("；")}。`,
  outcome: ({ kpi, expected_delta_k, realised_delta, verdict }) =>
    kpi === null
      ? "未指明 KPI，因此没有结论。"
      : `${kpi}：预期 ${share(expected_delta_k)}，实际 ${share(realised_delta)}，${verdict}（仅为相关性）。`,
  entries: (ids) => `审计条目：${ids.join("，")}。`,

  noKpis: "还没有任何 KPI 数据。",
  effect: (value) => `E 为 ${share(value)}。`,
  kpi: ({ kpi, value, at, baseline, target, attainment, reason }) =>
    `- ${kpi} ${value}，${at}${attainment === null ? `（不计入：${reason}）` : `，基线 ${baseline}，目标 ${target}，达成度 ${share(attainment)}`}`,

  noFailures: "最近 1000 条审计条目中没有失败，也没有已知的漂移。",
  failure: ({ audit_id, event_type, change_id, at, stage, error, host }) =>
    `- ${event_type} ${change_id}，${at}${stage ? `，阶段 ${stage}` : ""}${error ? `：${error}` : ""}${host ? `；宿主显示 ${host}` : ""}（审计条目 ${audit_id}）`,
  drift: ({ change_id, target, state, since }) => `- ${target} 自 ${since} 起 ${state}（${change_id}）`,

  remembered: "记忆中：",
  memory: ({ at, text }) => `- ${at.slice(0, 10)} ${text}`,
  modelFailed: (reason) => `语言模型没有回答（${reason}），以下答案来自记录。`,
};
