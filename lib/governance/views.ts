/** What is read of changes. A page costs what it shows; no request looks at all changes. */
import { entriesOf } from "../audit/page.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { GovernanceDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Store, Stored } from "../store/store.ts";
import { liveOn } from "./submit_proposal.ts";
import type { Change, Status } from "./rules/change.ts";
import { expireDue, expireOne } from "./expire_due.ts";
import { type Gate, gatesOf } from "./rules/gates.ts";
import { type KpiState, NO_KPIS } from "./rules/kpi.ts";
import { type Outcome, outcomeOf } from "./rules/outcome.ts";
import type { ChangeRecord } from "./records.ts";
import { allowedActions } from "./rules/transitions.ts";

const SCANNED_A_PAGE = 5000;

/** A page of changes, newest first; `next` is the `before` of the next page. */
export interface ChangePage {
  changes: Change[];
  /** How many changes there are in all; with `status`, of that status. */
  total: number;
  next: string | null;
}

/** Changes, newest first. With a filter at most 5,000 are looked at, and `next` goes on from there. */
export async function changePage(
  deps: GovernanceDeps,
  query: { limit: number; before?: string | undefined; status?: Status | undefined; tenant_id?: string | undefined },
): Promise<ChangePage> {
  await quietly(deps, expireDue(deps));
  const { store } = deps;
  const filtered = query.status !== undefined || query.tenant_id !== undefined;
  const looked = filtered ? SCANNED_A_PAGE : query.limit + 1;
  const page = await store.list("changes", {
    ...(query.before ? { after: query.before } : {}),
    limit: looked,
    reverse: true,
  });
  const matching = page
    .map(({ value }) => value.change)
    .filter(
      (change) =>
        (query.status ?? change.status) === change.status && (query.tenant_id ?? change.tenant_id) === change.tenant_id,
    );
  const changes = matching.slice(0, query.limit);
  const cut =
    matching.length > query.limit ? changes.at(-1)?.change_id : page.length === looked ? page.at(-1)?.id : undefined;
  const counts = (await store.get("counts", "changes"))?.value ?? {};
  const total = query.status
    ? (counts[query.status] ?? 0)
    : Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { changes, total, next: cut ?? null };
}

/** Everything about one change; 404 `change_not_found`. */
export async function changeDetail(
  deps: GovernanceDeps,
  changeId: string,
): Promise<
  Change & { audit_entries: AuditEntry[]; outcome: Outcome | null; allowed_actions: string[]; gates: Gate[] }
> {
  const found = await findChange(deps, changeId);
  await quietly(deps, expireOne(deps, found));
  const record = await findChange(deps, changeId);
  return {
    ...record.change,
    audit_entries: await entriesOf(deps.store, record.audit),
    outcome: await outcomeView(deps, changeId),
    allowed_actions: allowedActions(record.change.status),
    gates: await gatesNow(deps, record),
  };
}

/** Pending and approved changes with what blocks each, oldest first; `next` is the `after` of the next page. */
export async function approvals(deps: GovernanceDeps, query: { limit: number; after?: string | undefined }) {
  await quietly(deps, expireDue(deps));
  const listed = await Promise.all(
    (["pending_consent", "approved"] as const).map((status) => live(deps.store, status, query)),
  );
  const inOrder = listed.flat().sort((a, b) => (a.change.change_id < b.change.change_id ? -1 : 1));
  const shown = await Promise.all(
    inOrder.slice(0, query.limit).map(async (record) => {
      const {
        change_id,
        status,
        tier,
        target,
        summary,
        expected_delta_k,
        affected_users,
        required_approvers,
        approvals,
      } = record.change;
      const blocked_by = (await gatesNow(deps, record)).filter(({ state }) => state === "block");
      return {
        change_id,
        status,
        tier,
        target,
        summary,
        expected_delta_k,
        affected_users,
        required_approvers,
        approvals,
        blocked_by,
      };
    }),
  );
  return {
    pending: shown.filter(({ status }) => status === "pending_consent"),
    approved: shown.filter(({ status }) => status === "approved"),
    next: inOrder.length > query.limit ? shown.at(-1)!.change_id : null,
  };
}

/** Outcomes of applied changes, newest first; `next` is the `before` of the next page. */
export async function outcomes(
  deps: GovernanceDeps,
  query: { limit: number; before?: string | undefined },
): Promise<{ outcomes: Outcome[]; next: string | null }> {
  const page = await deps.store.list("outcomes", {
    ...(query.before ? { after: query.before } : {}),
    limit: query.limit + 1,
    reverse: true,
  });
  const { kpis, at } = await outcomeBasis(deps);
  const shown = page.slice(0, query.limit).map(({ value }) => outcomeOf(value, kpis, deps.product!.intent, at));
  return { outcomes: shown, next: page.length > query.limit ? shown.at(-1)!.change_id : null };
}

async function outcomeView(deps: GovernanceDeps, changeId: string): Promise<Outcome | null> {
  const record = (await deps.store.get("outcomes", changeId))?.value;
  if (!record) return null;
  const { kpis, at } = await outcomeBasis(deps);
  return outcomeOf(record, kpis, deps.product!.intent, at);
}

async function outcomeBasis({ store, clock }: GovernanceDeps): Promise<{ kpis: KpiState; at: string }> {
  return {
    kpis: (await store.get("kpi", "latest"))?.value ?? NO_KPIS,
    at: new Date(clock.now()).toISOString(),
  };
}

async function gatesNow({ store, product }: GovernanceDeps, record: ChangeRecord): Promise<Gate[]> {
  const { change } = record;
  return gatesOf(change, {
    policy: product!.intent.policy,
    conflicts: (await liveOn(store, change)).ids.filter((id) => id !== change.change_id),
    claimed: (await store.get("claims", change.change_id)) !== undefined,
    guardrail: record.guardrail,
  });
}

async function live(
  store: Store,
  status: "pending_consent" | "approved",
  query: { limit: number; after?: string | undefined },
): Promise<ChangeRecord[]> {
  const prefix = `${status}:`;
  const ids = (await store.list("live", { after: prefix + (query.after ?? ""), limit: query.limit + 1 }))
    .filter(({ id }) => id.startsWith(prefix))
    .map(({ id }) => id.slice(prefix.length));
  const records = await Promise.all(ids.map((id) => store.get("changes", id)));
  return records.flatMap((stored: Stored<ChangeRecord> | undefined) =>
    stored?.value.change.status === status ? [stored.value] : [],
  );
}

async function findChange({ store }: GovernanceDeps, changeId: string): Promise<ChangeRecord> {
  const found = (await store.get("changes", changeId))?.value;
  if (!found) throw new AppError("change_not_found", `there is no change ${changeId}`, { change_id: changeId });
  return found;
}

/** A read judges what is overdue first; where that cannot be written now, the read is answered all the same. */
async function quietly(deps: GovernanceDeps, expiry: Promise<unknown>): Promise<void> {
  await expiry.catch((error: unknown) => deps.log.warn("expiry waits", { error: String(error) }));
}
