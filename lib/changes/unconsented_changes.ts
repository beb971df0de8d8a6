/** Lists changes that the service carries out automatically, but that lack a consent under the intent in force. */
import { AppError } from "../kit/errors.ts";
import { listRecords } from "../store/pages.ts";
import type { Store } from "../store/store.ts";
import { filterAllProvenConsents, type ProofDeps } from "./proven_consents.ts";
import { readRecords } from "./records.ts";
import { requireConsented } from "./rules/state_machine.ts";

const BATCH_SIZE = 100;

/** A change, and a description of the missing consent. */
export interface UnconsentedChange {
  change_id: string;
  reason: string;
}

/** Lists approved changes that apply by themselves, and running rollouts, whose consents do not suffice any more. */
export async function listUnconsented(deps: ProofDeps): Promise<UnconsentedChange[]> {
  const { intent } = deps.product!;
  const ids = await listOngoing(deps.store);
  const unconsented: UnconsentedChange[] = [];
  for (let start = 0; start < ids.length; start += BATCH_SIZE) {
    const records = await readRecords(deps.store, ids.slice(start, start + BATCH_SIZE));
    const proven = await filterAllProvenConsents(
      deps,
      records.filter((record) => record !== undefined),
    );
    for (const change of proven) {
      try {
        requireConsented(change, intent);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        unconsented.push({ change_id: change.change_id, reason: error.message });
      }
    }
  }
  return unconsented;
}

/** Lists the ids of approved changes that apply by themselves, and of running rollouts. */
export async function listOngoing(store: Pick<Store, "list">): Promise<string[]> {
  const ids: string[] = [];
  // A key ends with the id of its change.
  for (const collection of ["applies_due", "rollouts_running"] as const)
    for await (const { id } of listRecords(store, collection, { keysOnly: true }))
      ids.push(id.slice(id.lastIndexOf("\n") + 1));
  return ids;
}
