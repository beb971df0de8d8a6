/** Values of the fields of a change. This file imports nothing, so that the console can load it. */

export const KINDS = ["config", "workflow", "feature_flag", "code_patch", "experiment"] as const;
export const TIERS = ["minor", "standard", "major"] as const;
export const RISKS = ["low", "medium", "high"] as const;
export const STATUSES = ["proposed", "pending_consent", "approved", "applied", "rolled_back", "denied"] as const;
/**
 * How a denied change came to its end. `expired`: not approved in time; `revoked`: an approval was taken back; `lapsed`: approved, and
 * not applied in time.
 */
export const RESOLUTIONS = ["denied", "withdrawn", "expired", "revoked", "lapsed"] as const;

export type Kind = (typeof KINDS)[number];
export type Tier = (typeof TIERS)[number];
export type Risk = (typeof RISKS)[number];
export type Status = (typeof STATUSES)[number];
export type Resolution = (typeof RESOLUTIONS)[number];

/** Fields that get a default if a proposal omits them; `unstated` of the change names the omitted ones. */
export const DEFAULTED_FIELDS = ["risk", "reversible", "affected_users"] as const;

/** The six KPIs of the specification; a feed may always name them. */
export const STANDARD_KPIS = [
  "nrr_quarterly",
  "deal_win_rate",
  "sales_cycle_days_p50",
  "weekly_active_sales_pct",
  "csat",
  "incident_rate",
] as const;
