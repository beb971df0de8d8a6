/** What decides is taken from the log at the moment it is used: what was edited in the store beside it decides nothing. */
import { describe, expect, test } from "vitest";
import type { Answer } from "../../../lib/http/answer.ts";
import { foldOf } from "../../../lib/governance/history.ts";
import { misfitsOf, patrol } from "../../../lib/governance/patrol.ts";
import { reconcile } from "../../../lib/governance/reconcile.ts";
import { placeOf } from "../../../lib/governance/records.ts";
import { contentIn } from "../../../lib/governance/rules/content.ts";
import { changeOf, type ChangeRecord } from "../../../lib/governance/rules/record.ts";
import type { Collection, Tx } from "../../../lib/store/store.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { type Core, core, coreOf } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { hashOf } from "../../support/independent_chain.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

/** Edits the store behind the service's back. */
const edit = (api: Core, change: (tx: Tx) => Promise<void> | void): Promise<void> => api.deps.store.transact(change);

const recordOf = async (api: Core, id: string) => (await api.deps.store.get("changes", id))!.value as ChangeRecord;

/** The service as it is, and another process that was just started on its store. */
const PROCESSES: [what: string, over: (api: Core) => Promise<Core>][] = [
  ["the process that wrote it", async (api) => api],
  ["another process", async (api) => coreOf(await restarted(api.deps))],
];

describe.each(PROCESSES)("a record that is set back, to %s", (_, processOf) => {
  test.each([
    ["revoked", "approved", "apply"],
    ["denied", "pending_consent", "approve"],
    ["withdrawn", "pending_consent", "approve"],
  ] as const)("a change that was %s does not come back as %s", async (end, before, ask) => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring(before);
    const kept = await recordOf(first, id);
    await first.must(({ revoked: "revoke", denied: "deny", withdrawn: "withdraw" } as const)[end], id);
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act(ask, id)).body).toMatchObject({ status: 409, code: "evidence_mismatch", fields: ["audit"] });
    expect(adapter.calls).toEqual([]);
    expect(await api.audit()).toHaveLength((await first.audit()).length);
  });

  test("what was applied is not applied again", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("approved");
    const kept = await recordOf(first, id);
    await first.must("apply", id);
    adapter.calls.length = 0;
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act("apply", id)).body.code).toBe("evidence_mismatch");
    expect(adapter.calls).toEqual([]);
  });

  test("nor rolled back again; another change goes its way meanwhile", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("applied");
    const kept = await recordOf(first, id);
    await first.must("rollback", id);
    adapter.calls.length = 0;
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act("rollback", id)).body).toMatchObject({ status: 400, code: "illegal_transition" });
    expect(adapter.calls).not.toContain("rollback");
    await api.bring("rolled_back");
  });
});

test("what is applied can be rolled back though its record was edited, as the log tells of it", async () => {
  const api = await core({ adapter: scriptedAdapter() });
  const id = await api.bring("applied");
  const { change, ...record } = await recordOf(api, id);
  await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, status: "denied" } }));
  expect((await api.act("approve", id)).body.code).toBe("evidence_mismatch");
  expect((await api.must("rollback", id)).status).toBe("rolled_back");
  expect((await recordOf(api, id)).change.status).toBe("rolled_back");
});

test("an applied change whose target was edited is not rolled back: nobody knows of where", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("applied");
  const { change, ...record } = await recordOf(api, id);
  adapter.calls.length = 0;
  await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, target: "other" } }));
  expect((await api.act("rollback", id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["content"] });
  expect(adapter.calls).not.toContain("rollback");
});

test("a change whose content was edited can be closed", async () => {
  for (const [status, ask] of [
    ["approved", "revoke"],
    ["pending_consent", "deny"],
    ["pending_consent", "withdraw"],
  ] as const) {
    const api = await core();
    const id = await api.bring(status);
    const { change, ...record } = await recordOf(api, id);
    await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, summary: "another" } }));
    expect((await api.must(ask, id)).status).toBe("denied");
  }
});

test("changes that are overdue are denied beside one whose record was edited", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const [edited, other] = [await api.bring("pending_consent"), await api.bring("pending_consent")];
  const { change, ...record } = await recordOf(api, edited);
  await edit(api, (tx) => tx.put("changes", edited, { ...record, change: { ...change, required_approvers: 7 } }));
  await pass(api.deps, 2 * HOUR);
  await api.cycle();
  expect((await api.change(other)).status).toBe("denied");
  expect((await recordOf(api, edited)).change.status).toBe("pending_consent");
});

describe("an entry", () => {
  const edits: [what: string, edit: (api: Core, id: string) => Promise<void>][] = [
    [
      "edited",
      (api, id) =>
        edit(api, async (tx) => {
          const { audit } = await recordOf(api, id);
          const key = String(audit[0]).padStart(16, "0");
          const entry = (await tx.get("audit", key))!.value;
          tx.put("audit", key, { ...entry, detail: entry.detail.replace("pending_consent", "approved") });
        }),
    ],
    [
      "of another change in its place",
      (api, id) =>
        edit(api, async (tx) => {
          const key = String((await recordOf(api, id)).audit[0]).padStart(16, "0");
          const other = (await tx.list("audit", { limit: 9 })).find((kept) => kept.id !== key)!;
          tx.put("audit", key, other.value);
        }),
    ],
    [
      "gone",
      (api, id) =>
        edit(api, async (tx) => tx.delete("audit", String((await recordOf(api, id)).audit[0]).padStart(16, "0"))),
    ],
  ];
  test.each(edits)("%s: the chain is broken, and nothing is written from then on", async (_, tamper) => {
    const api = await core();
    const id = await api.bring("approved");
    await api.bring("approved");
    await tamper(api, id);
    const { status, body } = await api.act("apply", id);
    expect([status, body.code]).toEqual([503, "chain_broken"]);
    expect((await api.post("kpi", { csat: 1 })).body.code).toBe("chain_broken");
  });
});

test("a denial that was made an approval, with its own hash and its record made right, is a broken chain", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("denied");
  await api.bring("approved");
  await edit(api, async (tx) => {
    const record = await recordOf(api, id);
    const key = String(record.audit[1]).padStart(16, "0");
    const entry = (await tx.get("audit", key))!.value;
    const detail = { ...JSON.parse(entry.detail), decision: "approved", status: "approved" };
    const forged = { ...entry, detail: JSON.stringify(detail) };
    tx.put("audit", key, { ...forged, current_hash: hashOf(forged) });
    const [proposal] = await tx.getMany("audit", [String(record.audit[0]).padStart(16, "0")]);
    const told = foldOf([proposal!.value, { ...forged, current_hash: "" }])!;
    tx.put("changes", id, { ...told, change: changeOf(told, contentIn(record.change)) });
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
  expect(adapter.calls).toEqual([]);
});

test("a log whose tail was cut is found to be when the next decision reads it", async () => {
  const api = await core();
  const id = await api.bring("approved");
  const { value: before } = (await api.deps.store.get("meta", "chain"))!;
  await api.post("kpi", { csat: 4 });
  await edit(api, (tx) => {
    tx.put("meta", "chain", before);
    tx.delete("audit", String(before.length + 1).padStart(16, "0"));
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
});

test("minor changes are counted by the log: no counter can be set back", async () => {
  const policy = { minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 } };
  const first = await core({ intent: { policy } });
  const minor = { tier: "minor", kind: "config", target: "ui.x", affected_users: 1, risk: "low", reversible: true };
  for (const api of [first, coreOf(await restarted(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("minor");
  await edit(first, (tx) => tx.put("counts" as "meta", "minor" as never, { day: "2026-01-02", count: 0 } as never));
  for (const api of [first, coreOf(await restarted(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("standard");
  first.deps.clock.advance(24 * HOUR);
  expect((await first.propose(minor)).tier).toBe("minor");
});

describe("a freeze", () => {
  test("that is taken out of the store still holds", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await api.post("freeze", { actor: "ana", note: "audit" });
    await edit(api, (tx) => tx.delete("meta", "freeze"));
    expect((await api.act("apply", id)).body).toMatchObject({ code: "frozen", freeze: { actor: "ana" } });
    expect((await api.post("unfreeze", { actor: "ana" })).status).toBe(200);
    expect((await api.act("apply", id)).status).toBe(200);
  });

  test("that the log does not tell of holds nothing", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await edit(api, (tx) => tx.put("meta", "freeze", { actor: "eve", note: "", until: null, at: "", entry: 1 }));
    expect((await api.act("apply", id)).status).toBe(200);
  });
});

test("a KPI that was edited in the store is remembered of an apply as the log tells it", async () => {
  const api = await core();
  await api.post("kpi", { csat: 4 });
  await edit(api, async (tx) => {
    const kept = (await tx.get("kpi", "latest"))!.value;
    tx.put("kpi", "latest", { ...kept, values: { csat: { ...kept.values["csat"]!, value: 1 } } });
  });
  const { audit_entry } = await api.must("apply", await api.bring("approved"));
  expect(JSON.parse(audit_entry.detail).kpis).toEqual({ csat: 4 });
});

describe("an answer that is kept under an Idempotency-Key", () => {
  const answered = async () => {
    const api = await core();
    const id = await api.bring("pending_consent");
    const ask = () => api.post("approve", { change_id: id, approver: "ana" }, { "idempotency-key": "k" });
    return { api, id, first: await ask(), ask };
  };
  const rewrite = (api: Core, change: (body: Record<string, object>) => object) =>
    edit(api, async (tx) => {
      const collection = "idempotency" as Collection as "idempotency";
      for (const { id, value } of await tx.list(collection, { limit: 9 })) {
        const answer: Answer = { ...value.answer, text: JSON.stringify(change(JSON.parse(value.answer.text))) };
        tx.put(collection, id, { ...value, answer });
      }
    });

  test("is given again while the log tells the same", async () => {
    const { first, ask, api, id } = await answered();
    await api.must("apply", id);
    expect((await ask()).text).toBe(first.text);
  });

  test.each([
    ["status", (body) => ({ ...body, status: "denied" })],
    ["entry", ({ audit_entry, ...body }) => ({ ...body, audit_entry: { ...audit_entry, detail: "{}" } })],
    ["change", ({ change, ...body }) => ({ ...body, change: { ...change, summary: "another" } })],
    ["entry's absence", ({ audit_entry: _, ...body }) => body],
  ] as [string, (body: Record<string, object>) => object][])("and not with another %s", async (_, forged) => {
    const { ask, api } = await answered();
    await rewrite(api, forged);
    expect((await ask()).body).toMatchObject({ status: 409, code: "evidence_mismatch", fields: ["idempotency"] });
  });
});

describe("a lease that somebody wrote", () => {
  const GONE = { owner: "gone", number: 1, at: "2026-01-02T03:04:05.678Z", ends: 0, actor: null, authenticated: null };

  test.each([
    ["as it is", {}],
    ["edited too", { status: "approved" as const }],
  ])("takes nothing back that the log has as applied, of a record %s", async (_, edited) => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const id = await api.bring("applied");
    const record = await recordOf(api, id);
    const place = placeOf(record.change);
    await edit(api, (tx) => {
      tx.put("leases", place, { ...GONE, operation: "apply", change_id: id, place });
      tx.put("changes", id, { ...record, change: { ...record.change, ...edited } });
    });
    const { length } = await api.audit();
    await api.cycle();
    expect(adapter.host.get(id)).toBe("applied");
    expect(await api.audit()).toHaveLength(length);
    expect(await api.deps.store.get("leases", place)).toBeUndefined();
  });

  test.each([
    ["no lease", null],
    ["of no change", { ...GONE, operation: "apply" }],
  ])("%s, keeps none from being settled", async (_, bad) => {
    const api = await core({ adapter: scriptedAdapter() });
    const { change } = await recordOf(api, await api.bring("approved"));
    const place = placeOf(change);
    await edit(api, (tx) => {
      tx.put("leases", "a", bad as never);
      tx.put("leases", place, { ...GONE, operation: "apply", change_id: change.change_id, place });
    });
    expect((await api.cycle()).recovered).toBe(1);
    expect((await restarted(api.deps, { adapter: scriptedAdapter() })).integrity.breach).toBeUndefined();
  });
});

test.each([null, 5, {}, { change: null, audit: [] }, { change: {}, audit: [1] }])(
  "what is no record, as %j, is refused and named, and holds nothing else up",
  async (bad) => {
    const api = await core();
    const id = await api.bring("approved");
    const other = await api.bring("approved", { target: "ui.b" });
    const another = await api.bring("approved", { target: "ui.c" });
    await api.must("apply", other);
    await edit(api, (tx) => tx.put("changes", id, bad as never));
    await patrol(api.deps);
    expect(misfitsOf(api.deps.integrity).get(id)).toContain("record");
    expect((await reconcile(api.deps)).mismatches.map(({ change_id }) => change_id)).toEqual([id]);
    for (const ask of ["apply", "rollback", "revoke"] as const)
      expect((await api.act(ask, id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["record"] });
    expect((await api.act("revoke", another)).status).toBe(200);
    expect((await api.act("rollback", other)).status).toBe(200);
  },
);
