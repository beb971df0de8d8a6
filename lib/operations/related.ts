/** Finds the changes that are related to a change. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { readProjection } from "../projections/snapshot.ts";
import { successorPrefix, waiting } from "../projections/waiting.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { readRecordsWithExpiry } from "../changes/expire_changes.ts";
import { readTargetIndex } from "../changes/target_index.ts";
import { MAX_LISTED_CHANGES, listIndexedOpenChanges, formatTargetKey } from "../changes/records.ts";
import { listEntries } from "../changes/rules/list_entries.ts";
import { type Change, changeSchema } from "../changes/rules/change.ts";

export const RELATIONS = ["live", "holds", "supersedes", "superseded_by"] as const;
type Relation = (typeof RELATIONS)[number];

export const relatedSchema = once(() =>
  changeSchema()
    .pick({ change_id: true, summary: true, proposer: true, status: true, resolution: true })
    .extend({
      relations: z
        .array(z.enum(RELATIONS))
        .describe("live: waits on the same target; holds: the target holds it; supersedes, superseded_by."),
    })
    .describe("A related item."),
);
export type RelatedChange = z.infer<ReturnType<typeof relatedSchema>>;

/** Finds other live changes on its target, the one whose value the target has, and superseded or superseding ones, newest first. */
export async function findRelated(deps: ChangesDeps, change: Change): Promise<RelatedChange[]> {
  const { store } = deps;
  const { change_id, supersedes } = change;
  const prefix = successorPrefix(change_id);
  const newest = { prefix, limit: MAX_LISTED_CHANGES, reverse: true, keysOnly: true } as const;
  const entries = listEntries(change);
  const [live, owners, successors] = await Promise.all([
    Promise.all(entries.map((entry) => listIndexedOpenChanges(store, entry, change_id))),
    readTargetIndex(store, "owners", entries, { limit: 1, reverse: true }),
    readProjection(deps, waiting).then((read) => read.list("successors", newest)),
  ]);
  const relations = new Map<string, Relation[]>();
  const relate = (id: string | null | undefined, relation: Relation): void => {
    if (id && id !== change_id) relations.set(id, [...(relations.get(id) ?? []), relation]);
  };
  for (const id of new Set(live.flat())) relate(id, "live");
  for (const id of new Set(entries.map((entry) => owners.get(formatTargetKey(entry))?.[0]?.value))) relate(id, "holds");
  relate(supersedes, "supersedes");
  for (const { id } of successors) relate(id.slice(prefix.length), "superseded_by");
  const ids = [...relations.keys()].sort().toReversed();
  const records = await readRecordsWithExpiry(deps, ids);
  return records.map(({ change: found }) => {
    const { summary, proposer, status, resolution } = found;
    const facts = { change_id: found.change_id, summary, proposer, status, resolution };
    return { ...facts, relations: relations.get(found.change_id)! };
  });
}
