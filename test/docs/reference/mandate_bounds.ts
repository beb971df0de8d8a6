/** Bounds of a mandate, for the table of docs/mandates.md, which test/docs/field_tables.test.ts generates from this file. */
import type { MandateBounds } from "../../../lib/changes/rules/mandate.ts";

/** Sentences of Markdown by bound. */
export const BOUND_REFERENCE: Readonly<Record<keyof MandateBounds, string>> = {
  agent: "the agent whose changes the mandate covers",
  targets: "patterns of the targets that it covers",
  kinds: "the kinds of changes that it covers",
  tenants: 'a list of tenants, or `"all"`',
  limits: "`schema`, `max_step` and `unit` of values, as in [`policy.targets`](intent.md#limits-of-values)",
  max_affected_users: "the most users of one change; the proposal must state their number",
  max_per_day: "the most changes on a UTC day",
  max_open: "the most changes at a time that are neither applied nor denied",
  kpi_floor: "the worst value allowed of each KPI; a feed with a worse value suspends the mandate",
  from: "the beginning; by default the last signature",
  until: "the end, at most `policy.mandates.max_days` after the draft",
};
