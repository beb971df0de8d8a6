/** What is known of a change's place: what was there before, and what came of changes like it. */
import type { Change, ChangeDetail, Outcome, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** Changes of one tenant on one target, newest first. */
export async function readHistory(change: Change, signal: AbortSignal): Promise<Change[]> {
  const page = await get<RuntimePage>("api/product/runtime", { tenant_id: change.tenant_id, limit: 200 }, signal);
  const place = change.target.toLowerCase();
  return page.changes.filter((one) => one.target.toLowerCase() === place);
}

/** What the service last set at this place before the change; undefined when it never did. */
export function setBefore(change: Change, history: readonly Change[]): { value: unknown; by: string } | undefined {
  const until = change.applied_at ?? "9999";
  const [owner] = history
    .filter(
      (one) =>
        one.change_id !== change.change_id &&
        one.status === "applied" &&
        one.value !== undefined &&
        one.applied_at !== null &&
        one.applied_at < until,
    )
    .sort((a, b) => (a.applied_at! < b.applied_at! ? 1 : -1));
  return owner && { value: owner.value, by: owner.change_id };
}

/** An earlier change with what came of it. */
export interface Precedent {
  change: Change;
  outcome: Outcome;
}

const LOOKED_AT = 16;
const SHOWN = 8;

/** Earlier changes that named the same KPI, those on the same target first. */
export async function readPrecedents(change: Change, signal: AbortSignal): Promise<Precedent[]> {
  if (change.kpi === null) return [];
  const { outcomes } = await get<{ outcomes: Outcome[] }>("api/product/outcomes", { limit: 500 }, signal);
  const alike = outcomes
    .filter(({ kpi, change_id }) => kpi === change.kpi && change_id !== change.change_id)
    .slice(0, LOOKED_AT);
  const found = await Promise.all(
    alike.map(async (outcome): Promise<Precedent> => {
      const path = `api/product/changes/${encodeURIComponent(outcome.change_id)}`;
      return { outcome, change: await get<ChangeDetail>(path, {}, signal) };
    }),
  );
  const sameTarget = (one: Precedent): number =>
    one.change.target.toLowerCase() === change.target.toLowerCase() ? 0 : 1;
  return found.sort((a, b) => sameTarget(a) - sameTarget(b)).slice(0, SHOWN);
}
