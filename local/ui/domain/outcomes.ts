import type { Outcome } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** Reads the newest outcomes. */
export const readOutcomes = (signal: AbortSignal): Promise<{ outcomes: Outcome[]; next: string | null }> =>
  get("api/product/outcomes", { limit: 200 }, signal);
