/** The intent of the shop: two KPIs with their goals, an agent that may propose, and the targets that are forbidden. */

/** Returns the intent; `agentHash` is the SHA-256 of the agent's secret. */
export const makeIntent = (agentHash) => ({
  product_id: "tea-shop",
  product_type: "shop",
  version: "2026.11",
  approved_by: "ana@teashop.example",
  update_epoch: 1,
  kpis: {
    basket_value: { baseline: 38, target: 43 },
    checkout_rate: { baseline: 61, target: 66 },
  },
  policy: {
    self_approval: false,
    forbidden_targets: ["payment.*"],
    guardrails: [{ kpi: "checkout_rate", max_regression: 3, action: "rollback" }],
  },
  principals: {
    "ana@teashop.example": { kind: "person" },
    "agent:shopkeeper": { kind: "agent", token_sha256: agentHash },
  },
});
