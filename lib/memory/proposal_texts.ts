/** Adds the texts of memories of proposals, each of which is stored as the id of its change (a string) only. */
import { MAX_MEMORY_LENGTH, type Memory, type ProposalMemory } from "../projections/memory.ts";
import { describeProposal } from "../projections/memory.ts";
import { readVerifiedChanges } from "../changes/ledger/read_changes.ts";
import { readRecords } from "../changes/records.ts";
import type { Change } from "../changes/rules/change.ts";
import { isCompleteRecord } from "../changes/rules/record.ts";
import { shorten } from "../kit/quote.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Reads } from "../store/store.ts";

/** Finds changes by id; undefined for a change that must not be shown. */
type FindChanges = (ids: readonly string[]) => Promise<(Change | undefined)[]>;

/** Adds the texts of proposals to stored memories; undefined for a change that must not be shown. */
export async function addProposalTexts(
  rows: readonly (Memory | ProposalMemory)[],
  find: FindChanges,
): Promise<(Memory | undefined)[]> {
  const ids = rows.flatMap((row) => (isMemory(row) ? [] : row));
  const changes = ids.length === 0 ? [] : await find(ids);
  // The changes are in the order of the rows without text.
  return rows.map((row) => (isMemory(row) ? row : makeMemory(changes.shift())));
}

/** Number of changes read in one request; a change is much larger than its memory. */
const CHANGES_PER_READ = 100;

/** Creates a finder of stored changes without verification, only for the index, which shows no texts. */
export const createStoredChangeFinder =
  (store: Pick<Reads, "getMany">): FindChanges =>
  async (ids) => {
    const changes: (Change | undefined)[] = [];
    for (let begin = 0; begin < ids.length; begin += CHANGES_PER_READ) {
      for (const record of await readRecords(store, ids.slice(begin, begin + CHANGES_PER_READ)))
        changes.push(record && isCompleteRecord(record) ? record.change : undefined);
      await yieldToEventLoop();
    }
    return changes;
  };

/** Creates a finder of changes that are verified against the log, without changes whose record was edited. */
export const createVerifiedChangeFinder =
  (deps: Parameters<typeof readVerifiedChanges>[0]): FindChanges =>
  async (ids) =>
    (await readVerifiedChanges(deps, ids)).map((result) => ("change" in result ? result.change : undefined));

const isMemory = (row: Memory | ProposalMemory): row is Memory => typeof row !== "string";

function makeMemory(change: Change | undefined): Memory | undefined {
  if (!change) return undefined;
  const { text, ...memory } = describeProposal(change);
  return { ...memory, text: shorten(text, MAX_MEMORY_LENGTH), at: change.created_at, ref: change.change_id };
}
