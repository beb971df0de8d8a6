/** A list of changes as clients ask for it: by status and tenant page by page, by anything else with the query. */
import type { GovernanceDeps } from "../../governance/deps.ts";
import type { Change, Status } from "../../governance/rules/change.ts";
import { invalidField } from "../../kit/errors.ts";
import { changePage } from "../change_views.ts";
import { filterOf, isFiltered } from "./asked.ts";
import { queryChanges } from "./change_query.ts";

/** What is asked for; `before` is the `next` of the page before. */
type ListQuery = Parameters<typeof filterOf>[0] & {
  limit: number;
  before?: string | undefined;
  status?: Status | undefined;
  tenant_id?: string | undefined;
};

/** A page of changes; `looked` and `complete` where a query found them. */
export async function listChanges(
  deps: GovernanceDeps,
  query: ListQuery,
): Promise<{ changes: Change[]; total: number; next: string | null; looked?: number; complete?: boolean }> {
  const { before, limit, ...fields } = query;
  if (query.role !== undefined && query.person === undefined) throw invalidField("person", "is needed with role");
  if (!isFiltered(fields)) return changePage(deps, query);
  const { rows, total, next, looked, complete } = await queryChanges(deps, {
    ...filterOf(fields),
    limit,
    after: before,
  });
  return { changes: rows.map(({ change }) => change), total, next, looked, complete };
}
