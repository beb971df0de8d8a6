/** What queries answer is what the log tells, counted a second way. */
import { expect, test } from "vitest";
import { weekOf } from "../../../../lib/kit/days.ts";
import { queryChanges, type ChangeQuery } from "../../../../lib/pulse/query/change_query.ts";
import { queryEvents } from "../../../../lib/pulse/query/event_query.ts";
import { dealt, inShort } from "../../../support/length.ts";
import { DAY } from "../../../support/clock.ts";
import { service } from "../../../support/service.ts";
import { counted, randomLog, toldBy, type Told } from "./random_log.ts";

const within = (time: string | undefined, from: string, to: string): boolean =>
  time !== undefined && time >= from && time < to;

test.each(dealt([1, 2, 3, 4, 5, 6], 2))(
  "whatever is asked of random log %i, rows and counts are those of its entries",
  async (seed) => {
    const product = await randomLog(seed, 50);
    const ask = (query: ChangeQuery) => queryChanges(product.deps, { limit: 1000, ...query });
    // A query expires what is overdue, as every list does.
    await ask({});
    const all = [...(await toldBy(product)).values()];
    const middle = all[20]!.proposed;
    const end = all[40]!.proposed;
    const expectSame = async (query: ChangeQuery, wanted: (told: Told) => boolean) => {
      const { rows, total, complete } = await ask(query);
      const expected = all.filter(wanted).map(({ id }) => id);
      expect({ ids: rows.map(({ change }) => change.change_id).sort(), total, complete }).toEqual({
        ids: expected.sort(),
        total: expected.length,
        complete: true,
      });
    };
    await expectSame({}, () => true);
    await expectSame(
      { status: "rolled_back", tenant_id: ["t1", "t2"] },
      ({ status, tenant }) => status === "rolled_back" && tenant !== "northwind",
    );
    await expectSame({ target: "ui.theme" }, ({ target }) => target.toLowerCase() === "ui.theme");
    await expectSame(
      { target: "ui.*", status: ["applied", "approved"] },
      ({ target, status }) => /^ui\./i.test(target) && /appl|approved/.test(status),
    );
    await expectSame({ person: { name: "BO", as: "proposer" } }, ({ proposer }) => proposer === "Bo");
    await expectSame({ person: { name: "dana", as: "approver" } }, ({ approvers }) => approvers.has("dana"));
    await expectSame({ person: { name: "dana", as: "denier" } }, ({ denier }) => denier === "dana");
    await expectSame(
      { person: { name: "dana", as: "either" } },
      ({ approvers, denier, proposer }) => approvers.has("dana") || denier === "dana" || proposer === "dana",
    );
    await expectSame({ period: { of: "proposed", from: middle, to: end } }, ({ proposed }) =>
      within(proposed, middle, end),
    );
    await expectSame({ period: { of: "applied", from: middle, to: end } }, ({ applied }) =>
      within(applied, middle, end),
    );
    await expectSame({ period: { of: "denied" } }, ({ denied }) => denied !== undefined);
    await expectSame(
      { period: { of: "rolled_back", from: middle } },
      ({ rolledBack }) => rolledBack !== undefined && rolledBack >= middle,
    );
    await expectSame(
      { period: { of: "consented", from: middle, to: end }, person: { name: "dana", as: "approver" } },
      ({ approvers }) => within(approvers.get("dana"), middle, end),
    );
    await expectSame({ text: "number 7" }, ({ id }) => id === all[7]!.id);

    const groups = async (query: ChangeQuery) =>
      Object.fromEntries((await ask(query)).groups.map(({ key, count }) => [key, count]));
    expect(await groups({ group: "status" })).toEqual(counted(all.map(({ status }) => status)));
    expect(await groups({ group: "tenant_id", status: "applied" })).toEqual(
      counted(all.filter(({ status }) => status === "applied").map(({ tenant }) => tenant)),
    );
    expect(await groups({ group: "approver" })).toEqual(counted(all.flatMap(({ approvers }) => [...approvers.keys()])));
    expect(await groups({ group: "approver", period: { of: "consented", from: middle, to: end } })).toEqual(
      counted(
        all.flatMap(({ approvers }) => [...approvers].flatMap(([who, at]) => (within(at, middle, end) ? [who] : []))),
      ),
    );
    expect(await groups({ group: "week", period: { of: "applied" } })).toEqual(
      counted(all.flatMap(({ applied }) => (applied ? [weekOf(Date.parse(applied)).name] : []))),
    );
    const outcomes = (await product.get("outcomes?limit=1000")).body.outcomes as {
      change_id: string;
      verdict: string;
    }[];
    expect(await groups({ group: "verdict" })).toEqual(counted(outcomes.map(({ verdict }) => verdict)));
    for (const verdict of ["met", "missed", "inconclusive"] as const)
      await expectSame({ verdict }, ({ id }) =>
        outcomes.some((one) => one.change_id === id && one.verdict === verdict),
      );
  },
);

inShort(test)("pages go on where the one before ended, in either order, by the time of the event", async () => {
  const product = await randomLog(5, 40);
  for (const order of ["newest", "oldest"] as const) {
    const query: ChangeQuery = { period: { of: "applied" }, order };
    const whole = await queryChanges(product.deps, { ...query, limit: 100 });
    const ids = whole.rows.map(({ change }) => change.change_id);
    const times = whole.rows.map(({ change }) => change.applied_at!);
    expect(times).toEqual(order === "newest" ? times.toSorted().reverse() : times.toSorted());
    const paged: string[] = [];
    for (let after: string | undefined; ;) {
      const { rows, next, total } = await queryChanges(product.deps, { ...query, limit: 3, after });
      paged.push(...rows.map(({ change }) => change.change_id));
      expect(total).toBe(ids.length);
      if (next === null) break;
      after = next;
    }
    expect(paged).toEqual(ids);
  }
});

inShort(test)("drift is asked of its episodes", async () => {
  const product = await service();
  const drifting = await product.bring("applied");
  await product.bring("applied", { target: "ui.theme" });
  const episode = {
    change_id: drifting,
    target: "ui.banner",
    tenant_id: "t1",
    state: "missing",
    host: "absent",
  } as const;
  await product.deps.store.transact((tx) => tx.put("drift", drifting, { ...episode, since: product.deps.clock.iso() }));
  const { rows, total } = await queryChanges(product.deps, { drifted: true });
  expect(total).toBe(1);
  expect(rows[0]).toMatchObject({ change: { change_id: drifting }, drift: { state: "missing" } });
  expect((await queryChanges(product.deps, { drifted: false })).total).toBe(1);
});

inShort(test)("what is no record is passed over, and one that was edited breaks no query", async () => {
  const product = await service();
  const [whole, gone] = [await product.bring("applied"), await product.bring("approved")];
  const odd = await product.bring("approved", { target: "ui.odd" });
  await product.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", odd))!.value;
    const change = { ...record.change, approvals: [null, { approver: 7 }], created_at: "once", rationale: 4 };
    tx.put("changes", odd, { ...record, change } as never);
    tx.put("changes", gone, { change: "edited" } as never);
  });
  await product.propose();
  const { rows, groups, looked } = await queryChanges(product.deps, { limit: 10, group: "week" });
  expect(looked).toBe(4);
  expect(rows.map(({ change }) => change.change_id)).toContain(whole);
  expect(groups).toHaveLength(1);
});

inShort(test)("what happened within a period is found by the times of entries, and counted by type", async () => {
  const product = await randomLog(6, 30);
  const entries = await product.audit("?limit=1000");
  const from = entries[20].timestamp;
  const to = new Date(Date.parse(from) + 5 * DAY).toISOString();
  const expected = entries.filter(({ timestamp, tenant }) => within(timestamp, from, to) && tenant === "t1");
  const answer = await queryEvents(product.deps.store, { from, to, tenant_id: ["t1"], limit: 3 });
  expect(answer.total).toBe(expected.length);
  expect(answer.entries.map(({ id }) => id)).toEqual(expected.slice(-3).map(({ id }) => id));
  expect(answer.counts).toEqual(counted(expected.map(({ event_type }) => event_type)));
  expect(answer.complete).toBe(true);
  const hers = await queryEvents(product.deps.store, { person: "DANA", limit: 1000 });
  const named = entries.filter(({ detail, event_type }) => {
    const { proposer, approver, actor } = JSON.parse(detail);
    const doer = event_type === "change_proposed" ? proposer : event_type === "consent_decision" ? approver : actor;
    return doer === "dana";
  });
  expect(hers.entries.map(({ id }) => id)).toEqual(named.map(({ id }) => id));
});

test("somebody is counted once however the name is written, whatever they did", async () => {
  const product = await service();
  for (const name of ["dana", "Dana", "DANA"]) {
    const { change_id } = await product.propose({ proposer: name, target: `limits.${name}`, tenant_id: name });
    await product.post("deny", { change_id, approver: name, note: "no" });
  }
  for (const group of ["proposer", "denier", "decider"] as const)
    expect((await queryChanges(product.deps, { group })).groups).toMatchObject([{ count: 3 }]);
});

test("who denied a change has decided on it, and approved nothing; of several people any is meant", async () => {
  const product = await service();
  const denied = await product.bring("pending_consent", { target: "ui.denied" });
  await product.post("deny", { change_id: denied, approver: "bo" });
  const approved = await product.bring("pending_consent", { target: "ui.approved" });
  await product.post("approve", { change_id: approved, approver: "ana" });
  const of = async (name: string | string[], as: "approver" | "denier" | "decider") =>
    (await queryChanges(product.deps, { person: { name, as } })).rows.map(({ change }) => change.change_id).sort();
  expect(await of("bo", "approver")).toEqual([]);
  expect(await of("bo", "denier")).toEqual([denied]);
  expect(await of("ana", "denier")).toEqual([]);
  expect(await of(["Ana", "bo"], "decider")).toEqual([denied, approved].sort());
  expect(await of(["ana", "chen"], "approver")).toEqual([approved]);
});
