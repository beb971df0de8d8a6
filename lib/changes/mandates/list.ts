/** Lists and reads mandates. */
import type { ChangesDeps } from "../deps.ts";
import { consultLog } from "../evidence.ts";
import { readRecords } from "../records.ts";
import type { Status } from "../rules/change.ts";
import { type MandateState, mandateApproverName } from "../rules/mandate.ts";
import { isMandateEvent, type MandateRecord } from "../rules/mandate_record.ts";
import { normalizeName } from "../rules/names.ts";
import { canRead, type RestrictedReader } from "../rules/reader.ts";
import { isOldDraft } from "./draft.ts";
import { createMandateNotFoundError, readMandate } from "./read_mandate.ts";
import { type MandateView, viewMandate } from "./view.ts";
import type { ChainHead } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";

const PAGE_SIZE = 100;
/** Maximum number of approved changes in the details of a mandate: the newest. */
const MAX_CHANGES = 100;

/** Filters and page of a list of mandates. */
export interface MandateQuery {
  state?: MandateState | undefined;
  agent?: string | undefined;
  /** Leaves out mandates that have ended. */
  isOpen?: boolean;
  limit: number;
  after?: string | undefined;
}

/** A change that a mandate approved. */
export interface ApprovedChange {
  change_id: string;
  /** RFC 3339: when it was approved. */
  at: string;
  target: string;
  tenant_id: string;
  summary: string;
  status: Status;
}

export interface MandateDetailView extends MandateView {
  changes: ApprovedChange[];
  audit_entries: AuditEntry[];
}

type Sources = Parameters<typeof viewMandate>[0];

/** Reads mandates outside a transaction; `createEmpty`: returns the result for an empty log. */
const readMandates = <T>(deps: ChangesDeps, run: (sources: Sources) => Promise<T>, createEmpty: () => T): Promise<T> =>
  consultLog(deps, async (evidence, head: ChainHead | undefined) => {
    if (!head) return createEmpty();
    const now = new Date(deps.clock.now()).toISOString();
    // If the clock is behind the log, the time of the newest entry counts.
    const at = head.at > now ? head.at : now;
    // Before the indexed part, only the head names the entry: the length after an accepted loss is its id.
    const findLastLossId = async (): Promise<number> =>
      (await evidence.lastEntryOfType("loss_accepted"))?.id ?? head.loss?.length ?? 0;
    return run({ tx: deps.store, evidence, origin: head.origin, at, product: deps.product!, findLastLossId });
  });

/** Returns true for a mandate that is no old draft, and that the reader, if there is one, may read. */
const isVisible = (mandate: MandateRecord, reader: RestrictedReader | undefined, now: number): boolean =>
  !isOldDraft(mandate, now) && (!reader || normalizeName(reader.name) === mandate.bounds.agent);

/** Lists mandates, oldest first. */
export const listMandates = (
  deps: ChangesDeps,
  { state, agent, isOpen = false, limit, after }: MandateQuery,
): Promise<{ mandates: MandateView[]; next: string | null }> =>
  readMandates(
    deps,
    async (sources) => {
      const mandates: MandateView[] = [];
      for (let lastId = after ?? ""; ;) {
        const page = await deps.store.list("mandates", { after: lastId, limit: PAGE_SIZE });
        for (const { id, value } of page) {
          lastId = id;
          if (agent !== undefined && normalizeName(agent) !== value.bounds.agent) continue;
          if (isOpen && value.state === "ended") continue;
          const mandate = await readMandate(sources, id);
          if (!mandate || !isVisible(mandate, deps.reader, deps.clock.now())) continue;
          const view = await viewMandate(sources, mandate);
          if ((state !== undefined && view.state !== state) || (isOpen && view.state === "ended")) continue;
          if (mandates.length === limit) return { mandates, next: mandates.at(-1)!.mandate_id };
          mandates.push(view);
        }
        if (page.length < PAGE_SIZE) return { mandates, next: null };
      }
    },
    () => ({ mandates: [], next: null }),
  );

/** Reads one mandate. Errors: 404 `mandate_not_found`. */
export const showMandate = (deps: ChangesDeps, mandateId: string): Promise<MandateDetailView> =>
  readMandates(
    deps,
    async (sources) => {
      const mandate = await readMandate(sources, mandateId);
      if (!mandate || !isVisible(mandate, deps.reader, deps.clock.now())) throw createMandateNotFoundError(mandateId);
      const view = await viewMandate(sources, mandate);
      const entries = await sources.evidence.entries(mandate.audit);
      return {
        ...view,
        changes: await listApprovedChanges(deps, sources.evidence, mandateId),
        audit_entries: entries.filter(({ event_type }) => isMandateEvent(event_type)),
      };
    },
    () => {
      throw createMandateNotFoundError(mandateId);
    },
  );

async function listApprovedChanges(
  { store, reader }: ChangesDeps,
  evidence: Sources["evidence"],
  mandateId: string,
): Promise<ApprovedChange[]> {
  const next = evidence.walkMandateConsents(mandateApproverName(mandateId));
  const approved: { change_id: string; at: string }[] = [];
  for (let entry; approved.length < MAX_CHANGES && (entry = await next());)
    approved.push({ change_id: entry.change_id, at: entry.timestamp });
  const records = await readRecords(
    store,
    approved.map(({ change_id }) => change_id),
  );
  return approved.flatMap(({ change_id, at }, index) => {
    const change = records[index]?.change;
    if (!change || (reader && !canRead(reader, change))) return [];
    const { target, tenant_id, summary, status } = change;
    return { change_id, at, target, tenant_id, summary, status };
  });
}
