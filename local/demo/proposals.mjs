/** The proposals of the demo's agent. A real agent would have a model write them. */

const COMMON = { tenant_id: "teashop", reversible: true };

/** The fields of `propose_change`, by the name of the proposal. */
export const PROPOSALS = {
  free_delivery: {
    ...COMMON,
    kind: "config",
    target: "delivery.free_from",
    value: 45,
    summary: "Deliver free of charge from €45 instead of €35",
    rationale: "Most baskets end a euro or two above the limit: customers fill them up to it.",
    kpi: "basket_value",
    expected_delta_k: 2.5,
    affected_users: 1800,
    risk: "low",
  },
  sign_in: {
    ...COMMON,
    kind: "feature_flag",
    target: "checkout.guests",
    value: false,
    summary: "Ask everybody to sign in before they pay",
    rationale: "A signed-in customer has an address on file, and should leave fewer orders half done.",
    kpi: "checkout_rate",
    expected_delta_k: 1.5,
    affected_users: 1800,
    risk: "medium",
  },
  delivery_day: {
    ...COMMON,
    kind: "feature_flag",
    target: "page.delivery_day",
    value: true,
    summary: "Show the day of delivery next to each tea",
    rationale: "Of the questions that customers send, every third is when the parcel comes.",
    kpi: "checkout_rate",
    expected_delta_k: 2,
    affected_users: 1800,
    risk: "low",
  },
};
