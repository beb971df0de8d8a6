/** Answers questions about the fixed topics: help, status, KPIs, failures and the log. */
import { readHead } from "../audit/chain.ts";
import { readLastCheckpoint } from "../audit/checkpoint.ts";
import { type Answer, cite, joinLines } from "../find/found_text.ts";
import { SAVED_QUESTIONS } from "../find/saved_questions.ts";
import { countVerifiedEntries } from "../changes/integrity_scan.ts";
import { STATUSES } from "../changes/rules/change.ts";
import { minuteText } from "../kit/days.ts";
import { label } from "../kit/quote.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { computeFigures } from "../operations/figures.ts";
import { listFailures, readOverview } from "./facts.ts";
import type { Topic } from "./topics.ts";

export const PRODUCT_OFF_TEXT =
  "The product runtime is off: there are no changes, KPIs or audit log. Start the service with --product-intent PATH to turn it on.";

const EXAMPLES = SAVED_QUESTIONS.slice(0, 6).map(({ title }) => title.en);
export const HELP = [
  "Ask with a query, such as is:pending risk:high, applied:last-week group:tenant, or 10 euro deposit.",
  `Ask a saved question: ${EXAMPLES.join(", ")}.`,
  "Or ask for: status, pending, waiting for me, why and some words of a change, KPIs, what failed, is the log intact.",
  "Chat decides nothing.",
].join("\n");

/** Answers a topic. */
export async function answerTopic(deps: OperationsDeps, topic: Topic): Promise<Answer> {
  const { text, citations } = await ANSWERS[topic](deps);
  return { text, citations, isComplete: true };
}

const ANSWERS: Readonly<Record<Topic, (deps: OperationsDeps) => Promise<Answer>>> = {
  help: async () => ({ text: HELP, citations: [] }),
  status: describeStatus,
  kpis: describeKpis,
  failures: describeFailures,
  log: describeLog,
};

const formatFigure = (value: number | null): string => (value === null ? "unknown" : `${Number(value.toFixed(2))}`);

/** Formats a number of entries: "1 entry", "4 entries". */
export const countEntries = (count: number): string => `${count} ${count === 1 ? "entry" : "entries"}`;

async function describeStatus(deps: OperationsDeps): Promise<Answer> {
  const { state, product } = await readOverview(deps);
  const { tick, E, M, R, N, tasks } = state;
  const serviceLines = [
    `E ${formatFigure(E)}, M ${formatFigure(M)}, R ${formatFigure(R)}, N ${formatFigure(N)} (cycle ${tick}).`,
    `Tasks: ${tasks.queued} queued, ${tasks.running} running, ${tasks.completed} completed, ${tasks.failed} failed.`,
  ];
  const citations = cite("state", [tick]);
  if (!product) return { text: joinLines(serviceLines), citations };
  const { identity, intent, changes, audit, drift } = product;
  const counts = STATUSES.filter((status) => changes[status]).map((status) => `${changes[status]} ${status}`);
  return {
    text: joinLines(
      `${label(identity.product_id)} ${label(intent.version)}: ${counts.length === 0 ? "no changes yet" : `changes ${counts.join(", ")}`}.`,
      `Last KPI feed: ${intent.last_kpi_at === null ? "none" : minuteText(intent.last_kpi_at)}. Drift: ${drift ?? "not checked"}.`,
      audit.breach
        ? `The audit log does not verify from entry ${audit.breach.first_invalid} on; writes are rejected.`
        : `The audit log has ${countEntries(audit.length)}.`,
      serviceLines,
    ),
    citations: [
      ...citations,
      ...cite("intent", [intent.manifest_hash]),
      ...cite("audit", audit.length > 0 ? [audit.length] : []),
    ],
  };
}

async function describeKpis(deps: OperationsDeps): Promise<Answer> {
  const { effect, goals } = await computeFigures(deps);
  const rows = effect.parts.map(({ kpi, value, at, baseline, target, attainment, stale, reason }) => {
    const goal = goals.find((candidate) => candidate.kpi === kpi);
    const facts = [
      `baseline ${baseline ?? "unknown"}`,
      `target ${target ?? "unknown"}`,
      attainment === null ? `does not count in E: ${reason}` : `attainment ${formatFigure(attainment)}`,
      goal ? goal.status.replace("_", " ") : "",
      stale ? "not fed for over 7 days" : "",
    ];
    return `- ${label(kpi)} ${value}, fed ${minuteText(at)}: ${facts.filter(Boolean).join(", ")}`;
  });
  const unfed = goals.filter(({ current }) => current === null).map(({ kpi }) => kpi);
  if (rows.length + unfed.length === 0) return { text: "No KPI has been fed yet.", citations: [] };
  return {
    text: joinLines(
      `E is ${formatFigure(effect.value)}.`,
      rows,
      unfed.map((kpi) => `- ${label(kpi)}: not fed yet`),
    ),
    citations: cite("kpi", [...effect.parts.map(({ kpi }) => kpi), ...unfed]),
  };
}

async function describeFailures(deps: OperationsDeps): Promise<Answer> {
  const { failures: failed, is_drift_known, drift } = await listFailures(deps);
  const noDrift = is_drift_known ? "Nothing drifts now." : "Not every target was checked for drift.";
  return {
    text: joinLines(
      "Query: failed applies, failed rollbacks and drift among the newest 1,000 entries of the log, and drift now.",
      failed.length === 0 ? "No operation failed and nothing drifted there." : "",
      failed.map(({ at, change_id, words }) => `- ${minuteText(at)}: ${words}. ${change_id}`),
      drift.length === 0 ? noDrift : "Drifting now:",
      drift.map(({ change_id, target, since }) => `- ${label(target)} since ${minuteText(since)}. ${change_id}`),
    ),
    citations: [
      ...cite(
        "audit",
        failed.map(({ audit_id }) => audit_id),
      ),
      ...cite("change", [...failed, ...drift].map(({ change_id }) => change_id).filter(Boolean)),
    ],
  };
}

/** Describes the verified part of the log; it does not start a verification. */
async function describeLog(deps: OperationsDeps): Promise<Answer> {
  const { length = 0, head = "" } = (await readHead(deps.store)) ?? {};
  const checkpoint = await readLastCheckpoint(deps);
  return {
    text: joinLines(
      describeIntegrity(deps.integrity),
      `It has ${countEntries(length)}${head === "" ? "" : `, head ${head}`}.`,
      checkpoint ? `The newest checkpoint covers ${countEntries(checkpoint.length)}, root ${checkpoint.root}.` : "",
    ),
    citations: cite("audit", length > 0 ? [length] : []),
  };
}

function describeIntegrity(integrity: OperationsDeps["integrity"]): string {
  const { breach } = integrity;
  if (breach)
    return `The audit log does not verify: entry ${breach.first_invalid} is the first that does not match (${breach.reason}). Writes are rejected.`;
  const verifiedLength = countVerifiedEntries(integrity);
  if (verifiedLength === 0)
    return "No fault of the audit log is known; it was not verified since the service started: countersign audit verify.";
  return `The audit log is intact as far as it was verified: entries 1 to ${verifiedLength}.`;
}
