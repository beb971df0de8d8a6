/** Finds the changes of a store that would lack a consent under an intent which is not in force. */
import { systemClock } from "../lib/kit/platform.ts";
import { entryKey } from "../lib/audit/chain.ts";
import { listOngoing, listUnconsented, type UnconsentedChange } from "../lib/changes/unconsented_changes.ts";
import type { Intent } from "../lib/changes/rules/intent.ts";
import { readRecords } from "../lib/changes/records.ts";
import { memoryStore } from "../lib/store/memory.ts";
import type { Key, Version } from "../lib/store/version.ts";
import { storeAddress, type StoreName } from "./moving/store_addresses.ts";
import type { Environment } from "./secrets.ts";

const MAX_MANDATES = 10_000;

/** Checks that a key belongs to the indexes of scheduled changes and running rollouts, or to the log's end. */
const isIndexKey = ({ collection, id }: Key): boolean =>
  collection === "applies_due" || collection === "rollouts_running" || (collection === "meta" && id === "chain");

/**
 * Lists scheduled changes and running rollouts of a store that would lack a consent. A service may be using the store; nothing is
 * written. Only these changes and their entries are loaded into memory. Errors: `MoveRejected`.
 */
export async function listUnconsentedInStore(
  intent: Intent,
  state: string,
  name: StoreName,
  env: Environment,
): Promise<UnconsentedChange[]> {
  const { from, close } = await storeAddress(state, env, name).openForCopy();
  const store = memoryStore();
  const load = async (isWanted: (key: Key) => boolean): Promise<void> => {
    const wanted: Version[] = [];
    // A version with an empty id is no record: it only states that revisions were used.
    for await (const versions of from.dump()) wanted.push(...versions.filter((one) => one.id !== "" && isWanted(one)));
    await store.bulk!.commit(wanted, { from: undefined, to: undefined });
  };
  try {
    await load(isIndexKey);
    const ids = await listOngoing(store);
    if (ids.length === 0) return [];
    const changeIds = new Set(ids);
    await load(({ collection, id }) => collection === "mandates" || (collection === "changes" && changeIds.has(id)));
    const records = await readRecords(store, ids);
    const mandates = await store.list("mandates", { limit: MAX_MANDATES });
    const references = [
      ...records.flatMap((record) => record?.audit ?? []),
      ...mandates.flatMap(({ value }) => value.audit),
    ];
    const entryIds = new Set(references.map(entryKey));
    await load(({ collection, id }) => collection === "audit" && entryIds.has(id));
    return await listUnconsented({ store, product: { intent }, clock: systemClock });
  } finally {
    await close();
  }
}
