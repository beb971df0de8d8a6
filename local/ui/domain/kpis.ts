import { STANDARD_KPIS } from "../../../lib/changes/rules/change_terms.ts";

/** The KPIs that a form offers: those of the product, or the standard ones where the product names none. */
export const listOfferedKpis = (own: readonly string[]): readonly string[] => (own.length > 0 ? own : STANDARD_KPIS);
