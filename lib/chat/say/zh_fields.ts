/** Chinese for what is measured of changes. */
import { label, quote } from "../../kit/quote.ts";
import type { Measure, Span } from "../question/measure.ts";
import type { fields as english } from "./en_fields.ts";
import { dayIn } from "./days.ts";
import { figure } from "./figure.ts";
import { partsOf } from "./span.ts";

/** `1 天 22 小时 30 分钟` */
export function spanIn(ms: number): string {
  const { days, hours, minutes } = partsOf(ms);
  const parts = [days > 0 ? `${days} 天` : "", hours > 0 ? `${hours} 小时` : "", minutes > 0 ? `${minutes} 分钟` : ""];
  return parts.filter(Boolean).join(" ") || "不到 1 分钟";
}

const BY: Record<Measure, string> = {
  users: "提出者所述的影响人数",
  expected: "承诺的收益",
  attempts: "尝试次数",
  decision: "从提出到决定的时间",
  apply: "从批准到应用的时间",
  whole: "从提出到应用的时间",
  force: "生效的时间",
  waiting: "已等待的时间",
};
const OF: Record<Exclude<Span, "force">, string> = {
  decision: "从提出到决定",
  apply: "从批准到应用",
  whole: "从提出到应用",
  waiting: "至今已等待",
};

const told = (measure: Measure, value: number): string =>
  measure === "users"
    ? `${value} 人`
    : measure === "attempts"
      ? `${value} 次`
      : measure === "expected"
        ? figure(value)
        : spanIn(value);

export const fields: typeof english = {
  measured: (measure, { query, known, total, isLeast }) =>
    known === 0
      ? `${query}：${total} 个中没有一个有${BY[measure]}的记录。`
      : `${query}，按${BY[measure]}从${isLeast ? "少到多" : "多到少"}；${total} 个中 ${known} 个有记录。`,
  spread: (measure, { least, most, mean }) =>
    `平均 ${told(measure, measure === "users" ? Math.round(mean) : measure === "attempts" ? Number(mean.toFixed(1)) : mean)}；最少 ${told(measure, least)}，最多 ${told(measure, most)}。`,
  measure: (measure, value, { kpi, rolled_back_at }) =>
    measure === "users"
      ? `影响 ${value} 人`
      : measure === "attempts"
        ? `尝试 ${value} 次`
        : measure === "expected"
          ? `承诺 ${label(kpi ?? "-")} ${figure(value)}`
          : measure === "force"
            ? `${rolled_back_at === null ? "至今已生效" : "生效"} ${spanIn(value)}`
            : `${OF[measure]} ${spanIn(value)}`,
  because: (rationale) => (rationale === "" ? "没有给出理由。" : `理由：${quote(rationale, 300)}。`),
  usersOf: (users) => (users === null ? "未说明影响多少人。" : `影响 ${users} 人（提出者所述）。`),
  spansOf: (spans, change) =>
    spans.length === 0
      ? "它无需同意，也没有应用。"
      : `用时：${spans.map(({ span, ms }) => fields.measure(span, ms, change)).join("；")}。`,
  attemptsOf: (operation, count, failed) =>
    count === 0
      ? "还没有人尝试应用它。"
      : `尝试${operation === "apply" ? "应用" : "回滚"} ${count} 次${failed > 0 ? `，其中失败 ${failed} 次` : ""}。`,
  reversibleOf: (reversible) =>
    reversible === undefined
      ? "没有人说明它是否可以撤销。"
      : reversible
        ? "提出者说明它可以撤销。"
        : "提出者说明它不可撤销。",
  reviewTime: ({ due_at, at }) => {
    const late = at === null ? 0 : Date.parse(at) - Date.parse(due_at);
    const done = at === null ? "尚未完成" : `${dayIn(at)} 完成，${late > 0 ? `晚了 ${spanIn(late)}` : "按时"}`;
    return `复核期限为 ${dayIn(due_at)}：${done}。`;
  },
  consentsOf: ({ approvals, required_approvers, tier }) =>
    tier === "minor"
      ? "它是 minor 变更，无需同意。"
      : `同意：已有 ${new Set(approvals.map(({ approver }) => approver)).size} 个，需要 ${required_approvers} 个。`,
};
