/** The value and the waiting changes of a target follow from the log; a plain model checks this over random histories. */
import { expect, test } from "vitest";
import { openProduct } from "../../../lib/changes/open.ts";
import { runTransaction } from "../../../lib/changes/transaction.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { type Core, makeCore } from "../../support/core.ts";
import { type TestDeps, opened, restarted } from "../../support/deps.ts";
import { histories } from "../../support/length.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { mulberry } from "../projections/hand_made.ts";

const PLACES = ["t1", "T1", "*"].flatMap((tenant_id) =>
  ["ui.banner", "UI.Banner", "a/b"].map((target) => ({ tenant_id, target })),
);
const placeOf = ({ tenant_id, target }: { tenant_id: string; target: string }) =>
  `${tenant_id} ${target.toLowerCase()}`;

interface Known {
  id: string;
  place: string;
  status: "pending" | "approved" | "applied" | "closed" | "rolled_back";
}

/** Actions in order; applied changes are stacked in the order of their apply. */
class Model {
  readonly all: Known[] = [];
  readonly stacks = new Map<string, string[]>();
  live = (place: string) =>
    this.all.filter((one) => one.place === place && ["pending", "approved"].includes(one.status)).map(({ id }) => id);
  stack(place: string): string[] {
    if (!this.stacks.has(place)) this.stacks.set(place, []);
    return this.stacks.get(place)!;
  }
  owner = (place: string): string | null => this.stack(place).at(-1) ?? null;
}

const intentOf = (block: boolean) => ({
  policy: {
    on_conflict: block ? "block" : "report",
    on_stale: "report",
    minor: { kinds: ["config"], targets: ["*"], max_per_day: 5 },
  },
});

const BATCH = 10;
test.each(histories([1, 5], [6, 20], [6, 65], BATCH))(
  "stacks of applies and rollbacks, policies and processes in turn: seeds %i to %i",
  async (first, last) => {
    for (let seed = first; seed <= last; seed++) await history(seed);
  },
);

async function history(seed: number): Promise<void> {
  const random = mulberry(seed);
  const roll = (below: number): number => Math.floor(random() * below);
  const pick = <T>(from: readonly T[]): T | undefined => from[roll(from.length)];
  const adapter = roll(2) ? scriptedAdapter() : undefined;
  let block = roll(2) === 0;
  const isEdited = roll(2) === 0;
  const model = new Model();
  const options = () => ({ intent: intentOf(block), adapter });
  const whole = [makeCore(await opened({ store: memoryStore(), ...options() }))];
  const { deps } = whole[0]!;
  let processes: Core[] = [...whole];

  const restart = async () => {
    block = roll(2) === 0;
    const all = makeCore(await restarted(deps, options()));
    const late = await restarted(deps, options());
    // Facts older than the entries read come from the store, which must not be wrong then.
    if (!isEdited) await openProduct(late, { tail: 1 + roll(12) });
    processes = [all, makeCore(late)];
  };
  const editViews = () =>
    deps.store.transact(async (tx) => {
      for (const view of ["live_by_target", "owners"] as const) {
        const rows = await tx.list(view, { limit: 40 });
        for (const { id, value } of rows) {
          if (roll(2)) tx.delete(view, id);
          if (roll(3)) continue;
          const other = pick(model.all);
          const place = `${pick(PLACES)!.target.toLowerCase()}\nt1\n`;
          if (view === "owners") tx.put(view, place + String(1 + roll(99)).padStart(16, "0"), other?.id ?? "chg_none");
          else tx.put(view, place + (other?.id ?? "chg_none"), value as true);
        }
      }
    });

  for (let step = 0; step < 60; step++) {
    const api = pick(processes)!;
    const what = roll(12);
    const some = (...statuses: Known["status"][]) => pick(model.all.filter((one) => statuses.includes(one.status)));
    const say = `seed ${seed} step ${step}`;
    if (what < 4) {
      const at = pick(PLACES)!;
      const place = placeOf(at);
      const isMinor = roll(4) === 0;
      const minor = isMinor ? { tier: "minor", affected_users: 1, risk: "low" } : {};
      const value = roll(3) ? { value: JSON.stringify(`"target":"${pick(PLACES)!.target}"`) } : {};
      const summary = `\\"target":"ui.banner" "target":"a/b"`;
      const { status, body } = await api.post("propose", {
        kind: "config",
        summary,
        proposer: 'x","target":"a/b',
        ...at,
        ...minor,
        ...value,
      });
      const live = model.live(place);
      if (block && live.length > 0) {
        expect([say, status]).toEqual([say, 409]);
        isAmong(body.conflicts, live, say, isEdited);
        continue;
      }
      expect([say, status]).toEqual([say, 201]);
      model.all.push({ id: body.change_id, place, status: body.status === "approved" ? "approved" : "pending" });
      if (body.status === "approved") {
        const { detail } = (await api.deps.store.list("audit", { limit: 1, reverse: true }))[0]!.value;
        expect([say, JSON.parse(detail).target_owner]).toEqual([say, model.owner(place)]);
      }
    } else if (what < 6) {
      const one = some("pending");
      if (!one) continue;
      const denied = roll(5) === 0;
      const { audit_entry } = await api.must(denied ? "deny" : "approve", one.id);
      one.status = denied ? "closed" : "approved";
      if (!denied) expect([say, JSON.parse(audit_entry.detail).target_owner]).toEqual([say, model.owner(one.place)]);
    } else if (what < 9) {
      const one = some("approved");
      if (!one) continue;
      if (adapter && roll(4) === 0) {
        adapter.on("apply", fails("no"), 1);
        await api.act("apply", one.id);
        adapter.calm();
        continue;
      }
      const held = model.owner(one.place);
      const { audit_entry } = await api.must("apply", one.id);
      expect([say, JSON.parse(audit_entry.detail).target_held]).toEqual([say, held]);
      one.status = "applied";
      model.stack(one.place).push(one.id);
    } else if (what < 11) {
      const one = some("applied");
      if (!one) continue;
      const { audit_entry } = await api.must("rollback", one.id);
      one.status = "rolled_back";
      model.stacks.set(
        one.place,
        model.stack(one.place).filter((id) => id !== one.id),
      );
      expect([say, JSON.parse(audit_entry.detail).target_holds]).toEqual([say, model.owner(one.place)]);
      if (roll(2)) expect((await api.post("erase", { change_id: one.id, actor: "dpo", note: "x" })).status).toBe(200);
    } else if (roll(2)) await restart();
    else await api.post("kpi", { csat: roll(9) });
    if (isEdited && roll(3) === 0) await editViews();
    if (roll(4) === 0) await holds(pick(processes)!.deps, model, say, isEdited);
  }
  for (const { deps: one } of processes) await holds(one, model, `seed ${seed}`, isEdited);
}

const holds = (deps: TestDeps, model: Model, say: string, isEdited: boolean) =>
  runTransaction({ deps }, async (transaction) => {
    for (const at of PLACES) {
      const place = placeOf(at);
      expect([say, place, await transaction.ledger.owner(at)]).toEqual([say, place, model.owner(place)]);
      isAmong(await transaction.ledger.liveChanges(at), model.live(place), `${say} ${place}`, isEdited);
    }
  });

/** An edited view may hide all but one of those that are live: never the last, nor does it make one up. */
function isAmong(reported: string[], live: string[], say: string, isEdited: boolean): void {
  const expected = isEdited && reported.length > 0 ? live.filter((id) => reported.includes(id)) : live;
  expect([say, ...reported.sort()]).toEqual([say, ...expected.sort()]);
}
