/** The people and agents of the simulated month, and its intent. */
import { portableSha256 } from "../../../lib/kit/platform.ts";

/** Head of engineering: approves, also in an emergency. */
export const ANA = "ana@acme.example";
/** Leads the product team: approves and proposes. */
export const BO = "bo@acme.example";
/** Operations: approves, also in an emergency, and proposes. */
export const CHEN = "chen@acme.example";
/** Product manager: proposes, and may not approve. */
export const DANA = "dana@acme.example";
/** Finance: owns the prices. */
export const ERIN = "erin@acme.example";
/** Support: reads and writes in the chat, and decides nothing. */
export const GIL = "gil@acme.example";
/** An agent that proposes prices. */
export const PRICING = "agent:pricing";
/** Proposer of drafts by a language model. */
export const MODEL = "llm:assistant";
/** Actor that feeds the KPIs. */
export const METRICS = "metrics";

/** The secret of `agent:pricing`. */
export const PRICING_SECRET = "the pricing agent's own secret";
/** The header in which the proxy in front of the service names the person. */
export const PERSON = "x-person";

/** The intent of the month. */
export const INTENT = {
  product_type: "crm",
  version: "2026.10",
  principals: {
    [ANA]: { kind: "person" },
    [BO]: { kind: "person" },
    [CHEN]: { kind: "person" },
    [DANA]: { kind: "person" },
    [ERIN]: { kind: "person" },
    [GIL]: { kind: "person" },
    [PRICING]: { kind: "agent", token_sha256: portableSha256(PRICING_SECRET) },
  },
  kpis: {
    nrr_quarterly: { baseline: 1.02, target: 1.12, weight: 3, deadline: "2026-12-31" },
    incident_rate: { baseline: 0.04, target: 0.01, weight: 2 },
    csat: { baseline: 4, target: 4.6, weight: 1, deadline: "2026-11-20" },
    deal_win_rate: { baseline: 0.2, target: 0.3, weight: 1 },
  },
  policy: {
    minor: { kinds: ["config", "feature_flag"], targets: ["ui.*"], max_affected_users: 50 },
    approvers: [ANA, BO, CHEN],
    required_approvers: { standard: 1, major: 2 },
    owners: [{ targets: ["pricing.*"], approvers: [ERIN] }],
    self_approval: false,
    consent_ttl_hours: 120,
    approval_ttl_hours: 240,
    forbidden_targets: ["billing.*"],
    guardrails: [{ kpi: "incident_rate", max_regression: 0.02, action: "rollback" }],
    break_glass: { approvers: [ANA, CHEN], required: 1, review_hours: 72 },
  },
} as const;
