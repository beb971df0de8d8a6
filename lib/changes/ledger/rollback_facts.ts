/** Facts about a rollback from the log: an adapter compares what it has stored with them. */
import { detailIn } from "../rules/event.ts";
import type { Change } from "../rules/change.ts";
import { contentIn } from "../rules/content.ts";
import { setsNothing } from "../rules/list_entries.ts";
import { changeOf, type ChangeRecord, differences } from "../rules/record.ts";
import type { Evidence } from "../evidence.ts";
import type { ReadRollbackFacts, RollbackFacts } from "../operations/adapter_port.ts";
import type { Reading } from "../reading.ts";
import { readRecord } from "../records.ts";
import { type Ledger, readLedger } from "./ledger.ts";

/** The log during one question of an adapter. */
interface Log {
  deps: Reading;
  ledger: Ledger;
  evidence: Evidence;
}

/** Returns the function that answers adapters from the log alone: an edited record changes nothing. */
export const rollbackFacts =
  (deps: Reading): ReadRollbackFacts =>
  (changeId) =>
    readLedger(deps, async (ledger, evidence) => {
      const log = { deps, ledger, evidence };
      const change = await readChange(log, changeId);
      if (!change) return undefined;
      const superseded = await isSuperseded(log, change);
      if (superseded === undefined) return undefined;
      return { superseded, ...(await replacedBy(log, change)), isApplied: (id) => isApplied(deps, id) };
    });

const isApplied = (deps: Reading, changeId: string): Promise<boolean> =>
  readLedger(
    deps,
    async (ledger, evidence) => (await readChange({ deps, ledger, evidence }, changeId))?.change.status === "applied",
  );

/** Returns whether a change that sets a value was applied over this one and still is. Each apply names the change it was over. */
async function isSuperseded(log: Log, { change }: ChangeRecord): Promise<boolean | undefined> {
  for (let id = await log.ledger.owner(change); id !== null && id !== change.change_id;) {
    const later = await readChange(log, id);
    const under = later && (await ownerBefore(log, later));
    if (!later || under === undefined) return undefined;
    const isOver = isSamePlace(later.change, change) && !leavesTarget(log, later);
    if (later.change.status === "applied" && isOver) return true;
    id = under;
  }
  return false;
}

/** Returns the digest of what a change replaced; where the change under it is no longer applied, of what that one replaced. */
async function replacedBy(log: Log, change: ChangeRecord): Promise<Pick<RollbackFacts, "digest">> {
  for (let top = change; top.applied;) {
    const id = await ownerBefore(log, top);
    if (id === undefined) return {};
    const under = id === null ? undefined : await readChange(log, id);
    if (!under || (under.change.status === "applied" && !leavesTarget(log, under)))
      return { digest: top.applied.previous_digest };
    // The value of another place says nothing of this one.
    if (!isSamePlace(under.change, change.change)) return {};
    top = under;
  }
  return {};
}

/** Returns true where two changes of a target set the same place: a configuration may route them to different systems. */
const isSamePlace = (a: Change, b: Change): boolean => a.places?.[0]?.place === b.places?.[0]?.place;

/** Returns the owner of the target before an apply; undefined where the log does not say. */
const ownerBefore = async ({ evidence }: Log, { applied }: ChangeRecord): Promise<string | null | undefined> =>
  applied ? detailIn((await evidence.entry(applied.entry))?.detail ?? "").target_held : undefined;

/** Returns a change as its entries make it, with the content that is stored of it, whatever that is. */
async function readChange({ deps, ledger }: Log, changeId: string): Promise<ChangeRecord | undefined> {
  const stored = await readRecord(deps.store, changeId);
  const state = await ledger.state(changeId, stored);
  return state && { ...state, change: changeOf(state, stored && contentIn(stored.change)) };
}

/** Returns whether a change leaves its target's value alone, by the content that its digest was made of. */
const leavesTarget = ({ deps: { sha256 } }: Log, record: ChangeRecord): boolean =>
  setsNothing(record.change) && !differences(record, record, sha256).includes("content");
