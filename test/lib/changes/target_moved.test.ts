/** Changes of a target between the consent to a change and its apply. */
import { expect, test } from "vitest";
import { core, type Core } from "../../support/core.ts";

const coreWithOnStale = (on_stale?: string) => core({ intent: { policy: on_stale ? { on_stale } : {} } });
const readGate = async (api: Core, change_id: string) =>
  (await api.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "target_moved");

test.each([
  [undefined, "warn"],
  ["report", "warn"],
  ["block", "block"],
] as const)(
  "with on_stale %s, another apply to the target after the consent is a gate that %ss",
  async (on_stale, state) => {
    const api = await coreWithOnStale(on_stale);
    const change_id = await api.bring("approved");
    expect(await readGate(api, change_id)).toBeUndefined();
    const other = await api.bring("applied");
    expect(await readGate(api, change_id)).toEqual({
      gate: "target_moved",
      state,
      message: `the target holds ${other} now, and held no change at the consent${state === "warn" ? "" : "; ana may revoke it, and it is proposed again"}`,
    });
    const { status, body } = await api.act("apply", change_id);
    // No change was in force on the target at the consent.
    const moved = { before: null, now: other };
    if (state === "block") {
      expect([status, body.code, body.target_owner]).toEqual([409, "target_moved", moved]);
      expect(body).toMatchObject({ change_id, allowed: ["revoke"] });
      expect((await api.change(change_id)).status).toBe("approved");
    } else {
      expect(status).toBe(200);
      expect(JSON.parse(body.audit_entry.detail).target_moved).toEqual(moved);
    }
  },
);

test("a rollback of the change that was the target's owner at the consent is reported too", async () => {
  const api = await coreWithOnStale("block");
  const other = await api.bring("applied");
  const change_id = await api.bring("approved");
  expect((await api.post("apply", { change_id, dry_run: 1 })).status).toBe(200);
  await api.must("rollback", other);
  expect((await api.act("apply", change_id)).body.code).toBe("target_moved");
  expect((await readGate(api, change_id))!.message).toBe(
    `${other}, which the target held at the consent, was rolled back since; ana may revoke it, and it is proposed again`,
  );
});

test("applies to other targets and tenants do not count, and rollbacks are never blocked", async () => {
  const api = await coreWithOnStale("block");
  const change_id = await api.bring("approved");
  await api.bring("applied", { target: "ui.other" });
  await api.bring("applied", { tenant_id: "t2" });
  await api.must("apply", change_id);
  await api.bring("applied");
  await api.must("rollback", change_id);
});

test("a minor change is compared with the target's owner at its proposal", async () => {
  const minor = { kinds: ["config"], targets: ["*"] };
  const api = await core({ intent: { policy: { minor, on_stale: "block" } } });
  const minorFields = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  const first = (await api.propose(minorFields)).change_id;
  const second = (await api.propose(minorFields)).change_id;
  await api.must("apply", first);
  expect((await api.act("apply", second)).body.code).toBe("target_moved");
  const third = (await api.propose(minorFields)).change_id;
  await api.must("apply", third);
});

test("an edited target owner in the record is a mismatch", async () => {
  const api = await coreWithOnStale("block");
  const change_id = await api.bring("approved");
  const other = await api.bring("applied");
  for (const target_owner of [other, undefined]) {
    await api.deps.store.transact(async (tx) => {
      const { target_owner: _, ...record } = (await tx.get("changes", change_id))!.value as { target_owner?: string };
      tx.put("changes", change_id, { ...record, ...(target_owner && { target_owner }) } as never);
    });
    expect((await api.act("apply", change_id)).body.code).toBe("evidence_mismatch");
  }
});
