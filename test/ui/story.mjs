/** The story of the screenshots: a fortnight of changes, sent to a running service through its API. */
import { readFile, writeFile } from "node:fs/promises";

/** The intent of the story. */
export const INTENT = {
  product_id: "acme-crm",
  product_type: "crm",
  version: "2026.11",
  approved_by: "head-of-product@acme.example",
  update_epoch: 3,
  kpis: {
    nrr_quarterly: { baseline: 1.02, target: 1.12, weight: 3 },
    deal_win_rate: { baseline: 0.22, target: 0.27, weight: 2 },
    sales_cycle_days_p50: { baseline: 48, target: 40, weight: 1 },
    incident_rate: { baseline: 0.04, target: 0.01, weight: 2 },
  },
  policy: {
    minor: { kinds: ["config", "feature_flag"], targets: ["ui.*", "limits.*"], max_affected_users: 50, max_risk: "low", max_per_day: 20 },
    required_approvers: { standard: 1, major: 2 },
    approvers: ["ana@acme.example", "bo@acme.example", "chen@acme.example"],
    self_approval: false,
    consent_ttl_hours: 120,
    forbidden_targets: ["billing.*"],
    guardrails: [
      { kpi: "incident_rate", max_regression: 0.05, action: "rollback" },
      { kpi: "nrr_quarterly", max_regression: 0.04, action: "alert" },
    ],
  },
}; // prettier-ignore

/** Sends a form and returns the response body; throws on an error status. */
export async function send(url, path, fields) {
  const response = await fetch(new URL(path, url), { method: "POST", body: new URLSearchParams(fields) });
  const body = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`);
  return body;
}

const [ANA, BO, CHEN, DANA] = ["ana@acme.example", "bo@acme.example", "chen@acme.example", "dana@acme.example"];

/** Sends the requests of the story; `advanceClock` advances the service's clock by hours, `config` is the host product's file. */
export async function playStory({ url, advanceClock, config }) {
  const post = (path, fields) => send(url, `api/product/${path}`, fields);
  const propose = async (fields) => (await post("propose", fields)).change_id;
  const approve = (change_id, approver, note = "") => post("approve", { change_id, approver, note });
  const apply = (change_id) => post("apply", { change_id });
  const kpi = (nrr, win, days, incidents) =>
    post("kpi", { nrr_quarterly: nrr, deal_win_rate: win, sales_cycle_days_p50: days, incident_rate: incidents });

  await kpi(1.021, 0.221, 48.4, 0.041);
  await advanceClock(20);
  const banner = await propose({
    tenant_id: "northwind",
    kind: "config",
    target: "ui.banner",
    summary: "Show the autumn banner to the pilot group",
    rationale: "The pilot group asked for a reminder of the autumn offer.",
    affected_users: 24,
    reversible: true,
    risk: "low",
    tier: "minor",
    proposer: DANA,
    value: JSON.stringify({ text: "Autumn offer ends on 30 November", until: "2026-11-30" }),
  });
  await apply(banner);
  await advanceClock(26);
  await kpi(1.024, 0.224, 47.9, 0.038);
  const north = await propose({
    tenant_id: "northwind",
    kind: "workflow",
    target: "crm.followup",
    summary: "Follow up with trial customers after three days instead of seven",
    rationale:
      "Nine of ten trials that convert do so within the first week. Today nobody writes to them before day seven.",
    expected_delta_k: 0.02,
    kpi: "nrr_quarterly",
    affected_users: 310,
    reversible: true,
    risk: "low",
    proposer: ANA,
    value: JSON.stringify({ enabled: true, after_days: 3, template: "trial-day-3" }),
  });
  await advanceClock(5);
  await approve(north, BO, "The support team has capacity; checked with Priya.");
  await apply(north);
  await advanceClock(40);
  await kpi(1.039, 0.226, 46.8, 0.037);
  const form = await propose({
    tenant_id: "contoso",
    kind: "experiment",
    target: "onboarding.short_form",
    summary: "Ask for two fields instead of nine at sign-up",
    rationale: "Half of the visitors leave on the sign-up page.",
    expected_delta_k: 0.02,
    kpi: "deal_win_rate",
    affected_users: 1200,
    risk: "medium",
    proposer: CHEN,
    value: JSON.stringify({ variants: { control: 80, treatment: 20 } }),
  });
  await advanceClock(3);
  await approve(form, ANA, "Go, but watch the win rate.");
  await apply(form);
  await advanceClock(30);
  await kpi(1.046, 0.219, 46.1, 0.036);
  await advanceClock(20);
  await kpi(1.048, 0.213, 45.7, 0.036);
  await post("rollback", { change_id: form });
  await advanceClock(4);
  const uploads = await propose({
    tenant_id: "contoso",
    kind: "config",
    target: "limits.uploads",
    summary: "Raise the upload limit to 250 MB",
    affected_users: 5200,
    risk: "medium",
    proposer: DANA,
    value: "250",
  });
  await advanceClock(2);
  await post("deny", {
    change_id: uploads,
    approver: BO,
    note: "The storage bill doubles. Bring a figure for who needs it.",
  });
  await advanceClock(28);
  await kpi(1.051, 0.222, 45.2, 0.034);
  const flag = await propose({
    tenant_id: "fabrikam",
    kind: "feature_flag",
    target: "search.semantic",
    summary: "Switch on semantic search for Fabrikam",
    rationale: "Fabrikam's pilot found what it looked for in 8 of 10 cases; before it was 5 of 10.",
    expected_delta_k: 1.5,
    kpi: "sales_cycle_days_p50",
    affected_users: 640,
    risk: "low",
    proposer: CHEN,
    value: "true",
  });
  await advanceClock(6);
  await approve(flag, ANA, "Convincing pilot.");
  await advanceClock(16);
  const rounding = await propose({
    tenant_id: "all",
    kind: "code_patch",
    target: "pricing/rounding",
    summary: "Round prices half to even, as the ledger does",
    rationale:
      "Invoices and ledger differ by a cent in one of 400 invoices.\n\nSupport spends four hours a week on it.",
    expected_delta_k: 0.01,
    kpi: "nrr_quarterly",
    affected_users: 18400,
    reversible: true,
    risk: "high",
    proposer: DANA,
    value: JSON.stringify({
      patch:
        "--- a/pricing/round.ts\n+++ b/pricing/round.ts\n@@ -3,3 +3,3 @@\n-  return Math.round(cents);\n+  return roundHalfToEven(cents);\n",
    }),
  });
  await advanceClock(7);
  await approve(rounding, ANA, "Read the patch and its tests.");
  await kpi(1.058, 0.224, 44.6, 0.033);
  await advanceClock(10);
  const south = await propose({
    tenant_id: "tailspin",
    kind: "workflow",
    target: "crm.followup",
    summary: "The same early follow-up for Tailspin",
    rationale: "It worked for Northwind: renewals are up since. Tailspin has the same trial and half the customers.",
    expected_delta_k: 0.015,
    kpi: "nrr_quarterly",
    affected_users: 140,
    reversible: true,
    risk: "low",
    proposer: ANA,
    value: JSON.stringify({ enabled: true, after_days: 3, template: "trial-day-3" }),
  });
  await advanceClock(8);
  const retention = await propose({
    tenant_id: "northwind",
    kind: "config",
    target: "data.retention",
    summary: "Delete closed leads after 12 months",
    rationale: "The new privacy rules ask for it from January on.",
    affected_users: 96000,
    reversible: false,
    risk: "high",
    proposer: BO,
    value: JSON.stringify({ closed_leads_months: 12 }),
  });
  await propose({
    tenant_id: "northwind",
    kind: "workflow",
    target: "crm.followup",
    summary: "Write again after ten days to those who did not answer",
    rationale: "One reminder in ten is answered.",
    expected_delta_k: 0.005,
    kpi: "nrr_quarterly",
    affected_users: 210,
    risk: "low",
    proposer: CHEN,
    value: JSON.stringify({ enabled: true, after_days: 3, again_after_days: 10, template: "trial-day-3" }),
  });
  await advanceClock(9);
  await kpi(1.061, 0.225, 44.1, 0.033);
  // To the present, which the clock does not pass.
  await advanceClock(1000);
  await driftAndTasks(url, config);
  return { banner, north, form, uploads, flag, rounding, south, retention };
}

/** Edits the host product by hand, then adds tasks and a chat; parts that the service does not have are skipped. */
async function driftAndTasks(url, config) {
  const productConfig = JSON.parse(await readFile(config, "utf8"));
  productConfig.values.northwind["ui.banner"] = { text: "Autumn offer extended!", until: "2026-12-31" };
  await writeFile(config, JSON.stringify(productConfig, null, 2));
  const attempt = (path, fields) => send(url, path, fields).catch(() => undefined);
  await attempt("api/action/run-now", { action: "check_drift" });
  await attempt("api/tasks", { title: "What moved since the early follow-up?", required_dimension: "E", priority: "high" });
  await attempt("api/action/run-now", { action: "run_next_task" });
  await attempt("api/tasks", { title: "Which closed changes lack a note?", required_dimension: "M", description: "For the audit in December." });
  await attempt("api/action/run-now", { action: "write_report" });
  await attempt("api/action/run-now", { action: "cycle" });
  await attempt("api/chat", { message: "What is waiting for me?", author: "bo@acme.example" });
  await attempt("api/chat", { message: "Why was the short form rolled back?", author: "bo@acme.example" });
} // prettier-ignore
