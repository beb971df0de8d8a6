/** What a rollback has to do, as the log tells it: what an adapter keeps of it is held against that. */
import type { RollbackTold, ToldRollback } from "./operations/adapter_port.ts";
import { consulting, type Evidence } from "./evidence.ts";
import { foldOf } from "./history.ts";
import type { Reading } from "./reading.ts";
import { readRecord } from "./records.ts";
import { contentIn } from "./rules/content.ts";
import { detailIn } from "./rules/event.ts";
import { changeOf, type ChangeRecord, differences } from "./rules/record.ts";
import { ownerTold } from "./target_told.ts";

/** Asks the log alone: a record that was edited tells nothing of it. */
export const rollbackTold =
  (deps: Reading): RollbackTold =>
  (changeId) =>
    consulting(deps, async (evidence) => {
      const told = await tell(deps, evidence, changeId);
      if (!told) return undefined;
      const superseded = await isSuperseded(deps, evidence, told);
      if (superseded === undefined) return undefined;
      return { superseded, ...(await replacedBy(deps, evidence, told)), isApplied: (id) => isApplied(deps, id) };
    });

const isApplied = (deps: Reading, changeId: string): Promise<boolean> =>
  consulting(deps, async (evidence) => (await tell(deps, evidence, changeId))?.change.status === "applied");

/** Whether a change that sets a value was applied over this one and still is: each apply tells what it was over. */
async function isSuperseded(deps: Reading, evidence: Evidence, { change }: ChangeRecord): Promise<boolean | undefined> {
  const telling = { tx: deps.store, evidence, outlined: () => deps.integrity.outline!.after };
  for (let id = await ownerTold(telling, change); id !== null && id !== change.change_id;) {
    const later = await tell(deps, evidence, id);
    const held = later && (await heldBefore(evidence, later));
    if (!later || held === undefined) return undefined;
    if (later.change.status === "applied" && !setsNothing(deps, later)) return true;
    id = held;
  }
  return false;
}

/** What the change replaced, or where that holds the target no more, what that one replaced. */
async function replacedBy(
  deps: Reading,
  evidence: Evidence,
  change: ChangeRecord,
): Promise<Pick<ToldRollback, "digest">> {
  for (let told = change; told.applied;) {
    const held = await heldBefore(evidence, told);
    if (held === undefined) return {};
    const below = held === null ? undefined : await tell(deps, evidence, held);
    if (!below || (below.change.status === "applied" && !setsNothing(deps, below)))
      return { digest: told.applied.previous_digest };
    told = below;
  }
  return {};
}

/** Whose change the target held before an apply; undefined where the log does not say. */
const heldBefore = async (evidence: Evidence, { applied }: ChangeRecord): Promise<string | null | undefined> =>
  applied ? detailIn((await evidence.entry(applied.entry))?.detail ?? "").target_held : undefined;

/** A change as its entries tell it, with the content that is kept of it, whatever that is. */
async function tell({ store }: Reading, evidence: Evidence, changeId: string): Promise<ChangeRecord | undefined> {
  const kept = await readRecord(store, changeId);
  const told =
    (kept && foldOf(await evidence.about(changeId, kept.audit[0] ?? 1))) ?? foldOf(await evidence.about(changeId, 1));
  return told && { ...told, change: changeOf(told, kept && contentIn(kept.change)) };
}

/** Whether it is a change that leaves its target's value alone, by the content that its digest is of. */
const setsNothing = ({ sha256 }: Reading, told: ChangeRecord): boolean =>
  told.change.value === undefined && !differences(told, told, sha256).includes("content");
