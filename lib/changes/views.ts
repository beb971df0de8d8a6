/** Views of one change and of pages of the log. */
import type { AuditEntry } from "../audit/entry.ts";
import { readAuditPage, type AuditQuery, type AuditPageText, readEntriesById } from "../audit/page.ts";
import type { ChangesDeps } from "./deps.ts";
import { listEpisodes } from "./drift.ts";
import { previewExpiry } from "./expire_changes.ts";
import { createHoldFinder } from "./freeze.ts";
import { listOtherAgentsMandates } from "./mandates/read_scope.ts";
import { findVisibleChange, listVisibleIds } from "./read_scope.ts";
import { readRecord } from "./records.ts";
import type { Actor } from "./rules/actor.ts";
import type { Change } from "./rules/change.ts";
import { parseDetail } from "./rules/event.ts";
import { judgeOffers, type Offers } from "./rules/offers.ts";
import { canRead } from "./rules/reader.ts";
import { type Signer, listSigners } from "./rules/signers.ts";
import { type Readiness, readReadiness } from "./readiness.ts";

/** A change with its entries, consents, gates and allowed actions. */
export interface ChangeView extends Change, Readiness {
  audit_entries: AuditEntry[];
  signers: Signer[];
  /** Actions that the caller may take; absent if the view is for no caller. */
  caller?: Offers;
}

/** Reads one change with its entries, readiness, and the actions that the caller may take. Errors: 404 `change_not_found`. */
export async function readChangeView(deps: ChangesDeps, changeId: string, caller?: Actor): Promise<ChangeView> {
  const { store } = deps;
  const records = await previewExpiry(deps, [await findVisibleChange(deps, changeId)]);
  const { change, audit } = records[0]!;
  const [entries, drift, readiness] = await Promise.all([
    readEntriesById(store, audit),
    caller && listEpisodes(store, changeId),
    createHoldFinder(deps).then((findHolds) => readReadiness(deps, records, findHolds)),
  ]);
  const { allowed_actions, missing, gates, proven } = readiness[0]!;
  const offerInput = { record: records[0]!, proven, gates, isDrifted: drift !== undefined && drift.length > 0 };
  const { intent, manifest_hash } = deps.product!;
  const offerContext = { intent, manifest_hash, sha256: deps.sha256, now: deps.clock.now() };
  return {
    ...change,
    audit_entries: entries,
    allowed_actions,
    missing,
    signers: listSigners(entries),
    gates,
    ...(caller && { caller: judgeOffers(offerInput, caller, offerContext) }),
  };
}

/** Returns the revision of a view; undefined if the view shows an expiry that is not recorded yet. */
export function findRecordedRevision({ revision, resolution, audit_entries }: ChangeView): number | undefined {
  if (resolution !== "expired" && resolution !== "lapsed") return revision;
  return audit_entries.some(({ detail }) => parseDetail(detail).decision === resolution) ? revision : undefined;
}

/** Reads a page of the log, or of the entries about one change. A reader sees no entry about the changes of others. */
export async function readLogPage(
  deps: ChangesDeps,
  { change_id, ...query }: Omit<AuditQuery, "ids"> & { change_id?: string | undefined },
): Promise<AuditPageText> {
  if (change_id === undefined) return readAuditPage(deps, { ...query, ...createVisibilityFilter(deps) });
  const record = await readRecord(deps.store, change_id);
  return readAuditPage(deps, { ...query, ids: record && canRead(deps.reader, record.change) ? record.audit : [] });
}

/**
 * Selects the entries that a reader may see: entries about its own changes and mandates, and about the service, but no rejected
 * proposals.
 */
function createVisibilityFilter(deps: ChangesDeps): Pick<AuditQuery, "select"> {
  const { reader, store } = deps;
  if (reader === undefined) return {};
  return {
    async select(entries) {
      const changeIds = [...new Set(entries.map(({ change_id }) => change_id))];
      const visibleChanges = new Set(await listVisibleIds(deps, changeIds));
      const hiddenEntries = await listOtherAgentsMandates(store, entries, reader);
      return entries.filter(({ id, change_id, event_type }) => {
        if (change_id !== "") return visibleChanges.has(change_id);
        return event_type !== "proposal_refused" && !hiddenEntries.has(id);
      });
    },
  };
}
