/** Random histories compare the owner and the live changes of each target, as derived from the log, with a simple model. */
import { expect, test } from "vitest";
import { openProduct } from "../../../lib/changes/open_product.ts";
import { runTransaction } from "../../../lib/changes/transaction.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { type Core, makeCore } from "../../support/core.ts";
import { type TestDeps, openDeps, restartDeps } from "../../support/deps.ts";
import { histories } from "../../support/run_length.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { seededFractions } from "../projections/test_log.ts";

const TARGET_KEYS = ["t1", "T1", "*"].flatMap((tenant_id) =>
  ["ui.banner", "UI.Banner", "a/b"].map((target) => ({ tenant_id, target })),
);
const toTargetKey = ({ tenant_id, target }: { tenant_id: string; target: string }) =>
  `${tenant_id} ${target.toLowerCase()}`;

interface ModelChange {
  id: string;
  targetKey: string;
  status: "pending" | "approved" | "applied" | "closed" | "rolled_back";
}

/** All changes, and the ids of the applied changes of each target in the order of their apply. */
class Model {
  readonly all: ModelChange[] = [];
  readonly appliedByTarget = new Map<string, string[]>();
  live = (targetKey: string) =>
    this.all
      .filter((change) => change.targetKey === targetKey && ["pending", "approved"].includes(change.status))
      .map(({ id }) => id);
  listApplied(targetKey: string): string[] {
    if (!this.appliedByTarget.has(targetKey)) this.appliedByTarget.set(targetKey, []);
    return this.appliedByTarget.get(targetKey)!;
  }
  owner = (targetKey: string): string | null => this.listApplied(targetKey).at(-1) ?? null;
}

const makeIntentFields = (isBlocking: boolean) => ({
  policy: {
    on_conflict: isBlocking ? "block" : "report",
    on_stale: "report",
    minor: { kinds: ["config"], targets: ["*"], max_per_day: 5 },
  },
});

/** Actions of random histories; frequent ones are listed several times. */
const ACTIONS = "propose propose propose propose decide decide apply apply apply rollback rollback other".split(" ");
const BATCH = 10;
test.each(histories([1, 5], [6, 20], [6, 65], BATCH))(
  "owners and live changes of targets match the model: seeds %i to %i",
  async (first, last) => {
    for (let seed = first; seed <= last; seed++) await runHistory(seed);
  },
);

/** Runs 60 random actions in changing processes and under changing policies; half of the histories also edit the indexes. */
async function runHistory(seed: number): Promise<void> {
  const random = seededFractions(seed);
  const roll = (below: number): number => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T | undefined => list[roll(list.length)];
  const adapter = roll(2) ? scriptedAdapter() : undefined;
  let isBlocking = roll(2) === 0;
  const isEdited = roll(2) === 0;
  const model = new Model();
  const options = () => ({ intent: makeIntentFields(isBlocking), adapter });
  const firstProcess = makeCore(await openDeps({ store: memoryStore(), ...options() }));
  const { deps } = firstProcess;
  let processes: Core[] = [firstProcess];

  const restart = async () => {
    isBlocking = roll(2) === 0;
    const completeProcess = makeCore(await restartDeps(deps, options()));
    const partialDeps = await restartDeps(deps, options());
    // A process that has read only the newest entries relies on the indexes, so it is used only if they are not edited.
    if (!isEdited) await openProduct(partialDeps, { tail: 1 + roll(12) });
    processes = [completeProcess, makeCore(partialDeps)];
  };
  const editIndexes = () =>
    deps.store.transact(async (tx) => {
      for (const index of ["live_by_target", "owners"] as const) {
        const rows = await tx.list(index, { limit: 40 });
        for (const { id, value } of rows) {
          if (roll(2)) tx.delete(index, id);
          if (roll(3)) continue;
          const other = pick(model.all);
          // The ids of both indexes begin with target and tenant; the id of an owner ends with the number of its apply's entry.
          const targetKey = `${pick(TARGET_KEYS)!.target.toLowerCase()}\nt1\n`;
          if (index === "owners")
            tx.put(index, targetKey + String(1 + roll(99)).padStart(16, "0"), other?.id ?? "chg_none");
          else tx.put(index, targetKey + (other?.id ?? "chg_none"), value as true);
        }
      }
    });

  for (let step = 0; step < 60; step++) {
    const api = pick(processes)!;
    const action = ACTIONS[roll(ACTIONS.length)];
    const pickByStatus = (...statuses: ModelChange["status"][]) =>
      pick(model.all.filter(({ status }) => statuses.includes(status)));
    const label = `seed ${seed} step ${step}`;
    if (action === "propose") {
      const target = pick(TARGET_KEYS)!;
      const targetKey = toTargetKey(target);
      const isMinor = roll(4) === 0;
      const minor = isMinor ? { tier: "minor", affected_users: 1, risk: "low" } : {};
      // Texts that look like the target in an entry must not be taken for it.
      const value = roll(3) ? { value: JSON.stringify(`"target":"${pick(TARGET_KEYS)!.target}"`) } : {};
      const summary = `\\"target":"ui.banner" "target":"a/b"`;
      const { status, body } = await api.post("propose", {
        kind: "config",
        summary,
        proposer: 'x","target":"a/b',
        ...target,
        ...minor,
        ...value,
      });
      const live = model.live(targetKey);
      if (isBlocking && live.length > 0) {
        expect([label, status]).toEqual([label, 409]);
        verifyLive(body.conflicts, live, label, isEdited);
        continue;
      }
      expect([label, status]).toEqual([label, 201]);
      model.all.push({ id: body.change_id, targetKey, status: body.status === "approved" ? "approved" : "pending" });
      if (body.status === "approved") {
        const { detail } = (await api.deps.store.list("audit", { limit: 1, reverse: true }))[0]!.value;
        expect([label, JSON.parse(detail).target_owner]).toEqual([label, model.owner(targetKey)]);
      }
    } else if (action === "decide") {
      const change = pickByStatus("pending");
      if (!change) continue;
      const isDenied = roll(5) === 0;
      const { audit_entry } = await api.must(isDenied ? "deny" : "approve", change.id);
      change.status = isDenied ? "closed" : "approved";
      if (!isDenied)
        expect([label, JSON.parse(audit_entry.detail).target_owner]).toEqual([label, model.owner(change.targetKey)]);
    } else if (action === "apply") {
      const change = pickByStatus("approved");
      if (!change) continue;
      if (adapter && roll(4) === 0) {
        adapter.on("apply", fails("no"), 1);
        await api.act("apply", change.id);
        adapter.removeScripts();
        continue;
      }
      const previousOwner = model.owner(change.targetKey);
      const { audit_entry } = await api.must("apply", change.id);
      expect([label, JSON.parse(audit_entry.detail).target_held]).toEqual([label, previousOwner]);
      change.status = "applied";
      model.listApplied(change.targetKey).push(change.id);
    } else if (action === "rollback") {
      const change = pickByStatus("applied");
      if (!change) continue;
      const { audit_entry } = await api.must("rollback", change.id);
      change.status = "rolled_back";
      model.appliedByTarget.set(
        change.targetKey,
        model.listApplied(change.targetKey).filter((id) => id !== change.id),
      );
      expect([label, JSON.parse(audit_entry.detail).target_holds]).toEqual([label, model.owner(change.targetKey)]);
      if (roll(2))
        expect((await api.post("erase", { change_id: change.id, actor: "dpo", note: "x" })).status).toBe(200);
    } else if (roll(2)) await restart();
    else await api.post("kpi", { csat: roll(9) });
    if (isEdited && roll(3) === 0) await editIndexes();
    if (roll(4) === 0) await verifyTargets(pick(processes)!.deps, model, label, isEdited);
  }
  for (const { deps: processDeps } of processes) await verifyTargets(processDeps, model, `seed ${seed}`, isEdited);
}

/** Verifies owner and live changes of every target against the model. */
const verifyTargets = (deps: TestDeps, model: Model, label: string, isEdited: boolean) =>
  runTransaction({ deps }, async (transaction) => {
    for (const target of TARGET_KEYS) {
      const targetKey = toTargetKey(target);
      expect([label, targetKey, await transaction.ledger.owner(target)]).toEqual([
        label,
        targetKey,
        model.owner(targetKey),
      ]);
      verifyLive(
        await transaction.ledger.openChanges(target),
        model.live(targetKey),
        `${label} ${targetKey}`,
        isEdited,
      );
    }
  });

/** Verifies the reported live changes: all of them, or at least one and no forged one if the index was edited. */
function verifyLive(reported: string[], live: string[], label: string, isEdited: boolean): void {
  const expected = isEdited && reported.length > 0 ? live.filter((id) => reported.includes(id)) : live;
  expect([label, ...reported.sort()]).toEqual([label, ...expected.sort()]);
}
