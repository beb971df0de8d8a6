/** Memories of proposals are told of their changes whenever somebody looks: what is kept of each is which change it is. */
import { LONGEST_MEMORY, type Memory, type Proposed } from "../follow/memory.ts";
import { toldOfProposal } from "../follow/memory_sentences.ts";
import { readRecords } from "../governance/records.ts";
import type { Change } from "../governance/rules/change.ts";
import { shorten } from "../kit/quote.ts";
import type { Reads } from "../store/store.ts";

/** What is kept as memories, told. Undefined where the change is not there to be told of. */
export async function withProposals(
  store: Pick<Reads, "getMany">,
  kept: readonly (Memory | Proposed)[],
): Promise<(Memory | undefined)[]> {
  const ids = kept.flatMap((one) => (isTold(one) ? [] : one.ref));
  const records = ids.length === 0 ? [] : await readRecords(store, ids);
  return kept.map((one) => (isTold(one) ? one : ofChange(records.shift()?.change)));
}

const isTold = (kept: Memory | Proposed): kept is Memory => "text" in kept;

function ofChange(change: Change | undefined): Memory | undefined {
  if (!change) return undefined;
  const { text, ...told } = toldOfProposal(change);
  return { ...told, text: shorten(text, LONGEST_MEMORY), at: change.created_at, ref: change.change_id };
}
