/** What is known of a change's place: what was there before, and what came of changes like it. */
import type { Change, RuntimePage } from "../core/api_types.ts";
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
