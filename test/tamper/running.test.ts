/**
 * Random attacks of eleven kinds on the store of a running service: no action succeeds that the log does not allow, edits are
 * reported within two cycles, one edited record stops no other change, and a rewrite of cosigned entries is detected.
 */
import { describe, expect, test } from "vitest";
import { entryKey } from "../../lib/audit/chain.ts";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { listKnownMismatches, scanIntegrity } from "../../lib/changes/integrity_scan.ts";
import { reconcile } from "../../lib/changes/reconcile.ts";
import { formatTargetChangeKey, formatTargetKey } from "../../lib/changes/records.ts";
import { isOpenChange } from "../../lib/changes/rules/current_state.ts";
import type { ChangeRecord } from "../../lib/changes/rules/record.ts";
import { toStoredChange } from "../../lib/changes/rules/stored_record.ts";
import type { Store, Tx } from "../../lib/store/store.ts";
import { PROPOSAL } from "../support/client.ts";
import { MINUTE } from "../support/clock.ts";
import type { Core } from "../support/core.ts";
import { LONG, rounds } from "../support/run_length.ts";
import { seededIntegers } from "../support/seeded_integers.ts";
import { exportLog } from "./real_log.ts";
import {
  forkCore,
  IDEMPOTENCY_KEY,
  makeEarlierRecord,
  MINOR,
  putLog,
  runScenario,
  type Truth,
} from "./running_world.ts";
import { verify } from "./verifiers.ts";
import { makeCheckpoint, rehashed } from "./world.ts";

type Pick = (below: number) => number;

/** Effects of an attack. */
interface AttackEffects {
  /** Changes whose records were edited; the log itself was not. */
  changes: string[];
  /** Entries under a cosigned checkpoint were altered. */
  cosigned?: boolean;
  /** The integrity scan must report the attack. */
  isReported: boolean;
  /** Only derived data was altered: every legal action still works. */
  harmless?: boolean;
}

type Attack = (store: Store, truth: Truth, pick: Pick) => Promise<AttackEffects>;

const pickOne = <T>(all: readonly T[], pick: Pick): T => all[pick(all.length)]!;
const listIds = ({ records }: Truth): string[] => [...records.keys()];
const edit = (store: Store, by: (tx: Tx) => Promise<void> | void): Promise<void> => store.transact(by);

const FORGED_FIELDS: Record<string, unknown> = {
  status: "approved",
  approvals: [{ approver: "eve", note: "", at: "2026-01-02T03:04:05.678Z" }],
  required_approvers: 0,
  target: "billing.price",
  value: { price: 0 },
  tier: "minor",
  reversible: false,
  digest: "0".repeat(64),
  applied_at: "2026-01-02T03:04:05.678Z",
  proposer: "eve",
};

/** Returns the entry with a forged detail, time or event type. */
function forgeEntry(entry: AuditEntry, pick: Pick): AuditEntry {
  const detail = {
    ...JSON.parse(entry.detail),
    status: pickOne(["approved", "denied", "applied"], pick),
    forged: true,
  };
  return pickOne(
    [
      { ...entry, detail: JSON.stringify(detail) },
      { ...entry, timestamp: "2026-01-02T03:04:05.000Z" },
      { ...entry, event_type: "consent_decision" as const, detail: '{"decision":"approved","approver":"eve"}' },
    ],
    pick,
  );
}

const ATTACK_KINDS: Record<string, Attack> = {
  "a record edited": async (store, truth, pick) => {
    const id = pickOne(listIds(truth), pick);
    const { change, ...record } = truth.records.get(id)!;
    const field = pickOne(
      Object.keys(FORGED_FIELDS).filter(
        (name) => JSON.stringify(FORGED_FIELDS[name]) !== JSON.stringify((change as never)[name]),
      ),
      pick,
    );
    await edit(store, (tx) =>
      tx.put("changes", id, { ...record, change: { ...change, [field]: FORGED_FIELDS[field] } } as ChangeRecord),
    );
    return { changes: [id], isReported: true };
  },
  "an entry edited": async (store, { entries }, pick) => {
    const entry = pickOne(entries, pick);
    await edit(store, (tx) => tx.put("audit", entryKey(entry.id), forgeEntry(entry, pick)));
    return { changes: [], cosigned: true, isReported: true };
  },
  "the tail cut": async (store, { entries }, pick) => {
    const cut = 1 + pick(10);
    await putLog(store, entries.slice(0, -cut), entries.length);
    return { changes: [], cosigned: true, isReported: true };
  },
  "an entry edited, and all hashes recomputed": async (store, { entries }, pick) => {
    const at = pick(entries.length);
    const edited = entries.map((entry, index) => (index === at ? forgeEntry(entry, pick) : entry));
    await putLog(store, rehashed(edited, at), entries.length);
    return { changes: [], cosigned: true, isReported: true };
  },
  "a record restored to an earlier state": async (store, truth, pick) => {
    const id = pickOne(
      listIds(truth).filter((changeId) => truth.records.get(changeId)!.audit.length > 1),
      pick,
    );
    const before = makeEarlierRecord(truth, id, 1 + pick(truth.records.get(id)!.audit.length - 1));
    await edit(store, (tx) => tx.put("changes", id, before));
    return { changes: [id], isReported: true };
  },
  "an old entry appended": async (store, { entries }, pick) => {
    const old = pickOne(entries.slice(0, -1), pick);
    await edit(store, async (tx) => {
      const { value: head } = (await tx.get("meta", "chain"))!;
      tx.put("audit", entryKey(entries.length + 1), old);
      if (pick(2) === 1) tx.put("meta", "chain", { ...head, length: head.length + 1, head: old.current_hash });
    });
    return { changes: [], isReported: true };
  },
  "records swapped": async (store, truth, pick) => {
    const ids = listIds(truth);
    const first = pick(ids.length);
    const [one, other] = [ids[first]!, ids[(first + 1 + pick(ids.length - 1)) % ids.length]!];
    const [a, b] = [truth.records.get(one)!, truth.records.get(other)!];
    await edit(store, (tx) => {
      tx.put("changes", one, toStoredChange({ ...b, change: { ...b.change, change_id: one } }));
      tx.put("changes", other, toStoredChange({ ...a, change: { ...a.change, change_id: other } }));
    });
    return { changes: [one, other], isReported: true };
  },
  // No code reads this row: the daily count comes from the log. The row stands for a counter that somebody resets.
  "the count of minor changes reset": async (store) => {
    await edit(store, (tx) => tx.put("counts" as "meta", "minor" as never, { day: "2026-01-02", count: 0 } as never));
    return { changes: [], isReported: false };
  },
  "a due guardrail rollback forged": async (store, truth, pick) => {
    const applied = listIds(truth).filter((id) => truth.records.get(id)!.change.status === "applied");
    const id = pickOne(applied, pick);
    const numbers = { baseline: 4, value: 1, regression: 3, max_regression: 0.5 };
    const entry = truth.entries.findLast(({ event_type }) => event_type === "kpi_refreshed")!;
    const evidence = { kpi: "csat", action: "rollback" as const, ...numbers, at: entry.timestamp };
    await edit(store, (tx) => {
      const forged = pick(2) === 1 ? evidence : { ...evidence, entry: pickOne([entry.id, 1, 9999], pick) };
      tx.put("guardrail_due", id, forged as never);
    });
    return { changes: [], isReported: false };
  },
  "a stored response forged": async (store, _, pick) => {
    const [stored] = await store.list("idempotency", { limit: 1 });
    const { answer, ...rest } = stored!.value;
    const body = JSON.parse(answer.text);
    const forgery = pickOne(
      [
        { ...body, status: "denied" },
        { ...body, change: { ...body.change, summary: "another" } },
        { ...body, audit_entry: { ...body.audit_entry, id: 1 } },
        { ...body, approvals: [] },
      ],
      pick,
    );
    await edit(store, (tx) =>
      tx.put("idempotency", stored!.id, { ...rest, answer: { ...answer, text: JSON.stringify(forgery) } }),
    );
    return { changes: [], isReported: false };
  },
  "an index of a target forged": async (store, truth, pick) => {
    const [id, other] = [pickOne(listIds(truth), pick), pickOne(listIds(truth), pick)];
    const { change, applied } = truth.records.get(id)!;
    const isDeleted = pick(2) === 1;
    await edit(store, (tx) => {
      const owned = formatTargetKey(change) + entryKey(applied?.entry ?? 1 + pick(truth.entries.length));
      if (!isDeleted) {
        tx.put("live_by_target", formatTargetKey(change) + other, true);
        tx.put("owners", owned, other);
        return;
      }
      tx.delete("live_by_target", formatTargetChangeKey(change));
      tx.delete("owners", owned);
    });
    const isRelevant = isOpenChange(change.status) || change.status === "applied";
    return { changes: [id], isReported: isDeleted && isRelevant, harmless: true };
  },
};

const REJECTION_CODES = ["evidence_mismatch", "chain_broken", "approval_stale"];

/** Requests every action on some changes, and verifies that only those succeed that the true log allows. */
async function requestActions(
  api: Awaited<ReturnType<typeof forkCore>>,
  truth: Truth,
  { changes, harmless }: AttackEffects,
  pick: Pick,
): Promise<void> {
  const ids = [...new Set([...changes, pickOne(listIds(truth), pick), pickOne(listIds(truth), pick)])];
  for (const id of ids) {
    for (const action of ["apply", "approve", "rollback"] as const) {
      const { status: code, body } = await api.act(action, id);
      const before = truth.records.get(id)!.change;
      const legal = { apply: "approved", approve: "pending_consent", rollback: "applied" }[action];
      if (harmless && before.status === legal) expect(code, `${action} of ${id}: ${JSON.stringify(body)}`).toBe(200);
      if (code >= 300) continue;
      expect(before.status, `${action} of ${id}: ${JSON.stringify(body)}`).toBe(legal);
      // From here on the service's own action determines the true state.
      truth.records.set(id, { ...truth.records.get(id)!, change: body.change });
    }
  }
  for (const id of ids) {
    const { target } = truth.records.get(id)!.change;
    const { status, body } = await api.post("propose", { ...PROPOSAL, target });
    const live = [...truth.records.values()].some(
      ({ change }) => change.target === target && isOpenChange(change.status),
    );
    if (harmless || status < 300)
      expect(status, `proposed on ${target}: ${JSON.stringify(body)}`).toBe(live ? 409 : 201);
    if (status < 300) await api.must("withdraw", body.change_id);
  }
  const minor = await api.post("propose", { tenant_id: "t1", kind: "config", summary: "s", ...MINOR });
  // The scenario has used up the minor changes of the day.
  if (minor.status < 300) expect(minor.body.tier).toBe("standard");
  else expect(REJECTION_CODES).toContain(minor.body.code);
  const { change_id, text } = truth.approval;
  const again = await api.post("approve", { change_id, approver: "ana" }, { "idempotency-key": IDEMPOTENCY_KEY });
  if (again.status < 300) expect(again.text).toBe(text);
  else expect(REJECTION_CODES).toContain(again.body.code);
  // The log gives no reason for a rollback by a guardrail.
  const { rolled_back } = await api.cycle().catch(() => ({ rolled_back: null }));
  expect(rolled_back).toBeNull();
}

const hasReport = ({ deps: { integrity } }: Core): boolean =>
  integrity.breach !== undefined || listKnownMismatches(integrity).size > 0;

/** Returns whether a rollback has repaired the edited records from the log, and its entry lists the repaired fields. */
async function isRepairedByRollback(api: Core, { changes }: AttackEffects): Promise<boolean> {
  const { mismatched } = await reconcile({ ...api.deps, integrity: {} });
  const repairs = (await api.audit()).filter(
    ({ change_id, detail }) => changes.includes(change_id) && JSON.parse(detail).mended,
  );
  return mismatched === 0 && repairs.length > 0;
}

async function attackFork(api: Core, truth: Truth, seed: number): Promise<void> {
  const pick = seededIntegers(seed);
  const kinds = Object.keys(ATTACK_KINDS);
  const kind = kinds[seed % kinds.length]!;
  const fork = await forkCore(api);
  const { store, clock } = fork.deps;
  const forkTruth: Truth = { ...truth, records: new Map(truth.records) };
  const effects = await ATTACK_KINDS[kind]!(store, forkTruth, pick);
  const title = `${kind}, seed ${seed}`;

  if (effects.cosigned) {
    const { length } = truth.entries;
    const cosigned = { ...cosignedState(truth, length), description: "the cosigned checkpoint" };
    expect((await verify(await exportLog(store), [cosigned])).verdict, title).toBe("bad");
  }
  const cyclesFirst = pick(2) === 1;
  const runTwoCycles = async () => {
    for (let cycle = 0; cycle < 2; cycle++) {
      clock.advance(MINUTE);
      await scanIntegrity(fork.deps);
    }
    if (effects.isReported)
      expect(hasReport(fork) || (await isRepairedByRollback(fork, effects)), `${title}: reported`).toBe(true);
  };
  if (cyclesFirst) await runTwoCycles();
  await requestActions(fork, forkTruth, effects, pick);
  // An edit of one record does not stop others; an edit of the log does.
  if (effects.changes.length > 0 || !effects.isReported)
    expect(await fork.bring("rolled_back", { target: "t.new" }), title).toBeDefined();
  // The actions in between have changed the rows of the indexes.
  if (!cyclesFirst && !effects.cosigned && !effects.harmless) await runTwoCycles();
}

const cosignedState = ({ entries }: Truth, length: number) => {
  const [, size, root] = makeCheckpoint(entries, length).split("\n");
  return { length: Number(size), root: Buffer.from(root!, "base64").toString("hex") };
};

const SCENARIOS = rounds(1, 1, 10);
const ATTACKS = rounds(40, 80, 100);

describe("attacks of eleven kinds on the store of a running service", () => {
  test.each(Array.from({ length: SCENARIOS }, (_, scenario) => scenario))(
    "have no effect, and are reported: scenario %i",
    { timeout: 120_000 },
    async (scenario) => {
      const { api, truth } = await runScenario();
      for (let attack = 0; attack < ATTACKS; attack++)
        await attackFork(api, truth, (LONG ? 1000 : 0) + scenario * ATTACKS + attack);
    },
  );
});
