/** Memories of proposals are told of their changes whenever somebody looks: what is kept of each is which change it is. */
import { MAX_MEMORY_LENGTH, type Memory, type ProposalMemory } from "../projections/memory.ts";
import { describeProposal } from "../projections/memory.ts";
import { readVerifiedChanges } from "../changes/ledger/read_changes.ts";
import { readRecords } from "../changes/records.ts";
import type { Change } from "../changes/rules/change.ts";
import { isWhole } from "../changes/rules/record.ts";
import { shorten } from "../kit/quote.ts";
import { turn } from "../kit/turn.ts";
import type { Reads } from "../store/store.ts";

/** Finds the changes with these ids; undefined for one that is not to be told of. */
type Find = (ids: readonly string[]) => Promise<(Change | undefined)[]>;

/** What is kept as memories, told. Undefined where the change is not there to be told of. */
export async function withProposals(
  kept: readonly (Memory | ProposalMemory)[],
  find: Find,
): Promise<(Memory | undefined)[]> {
  const ids = kept.flatMap((one) => (isMemory(one) ? [] : one));
  const changes = ids.length === 0 ? [] : await find(ids);
  return kept.map((one) => (isMemory(one) ? one : ofChange(changes.shift())));
}

/** Changes are large beside their memories: so many are read in a turn. */
const AT_ONCE = 100;

/** As they are stored, to be found by: nothing of it is shown. */
export const asStored =
  (store: Pick<Reads, "getMany">): Find =>
  async (ids) => {
    const changes: (Change | undefined)[] = [];
    for (let begin = 0; begin < ids.length; begin += AT_ONCE, await turn())
      for (const record of await readRecords(store, ids.slice(begin, begin + AT_ONCE)))
        changes.push(record && isWhole(record) ? record.change : undefined);
    return changes;
  };

/** As the log tells of them: nothing is told of one that somebody edited beside it. */
export const asProven =
  (deps: Parameters<typeof readVerifiedChanges>[0]): Find =>
  async (ids) =>
    (await readVerifiedChanges(deps, ids)).map((one) => ("change" in one ? one.change : undefined));

const isMemory = (row: Memory | ProposalMemory): row is Memory => typeof row !== "string";

function ofChange(change: Change | undefined): Memory | undefined {
  if (!change) return undefined;
  const { text, ...memory } = describeProposal(change);
  return { ...memory, text: shorten(text, MAX_MEMORY_LENGTH), at: change.created_at, ref: change.change_id };
}
