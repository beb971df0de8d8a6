/** Lists of changes with filters, over HTTP. */
import { expect, test } from "vitest";
import { randomLog, foldLog, type LoggedChange } from "./random_log.ts";
import { service } from "../../support/service.ts";

test("a list is filtered by each parameter, page by page", async () => {
  const product = await randomLog(11, 30);
  const list = async (query: string) => (await product.get(`runtime?${query}`)).body;
  const all = [...(await foldLog(product)).values()];
  const expected = all.filter(({ proposer, tenant }) => proposer === "dana" && tenant === "t1").map(({ id }) => id);
  const { changes, total, next } = await list("person=DANA&role=proposer&tenant_id=t1");
  const ids = changes.map(({ change_id }: { change_id: string }) => change_id);
  expect({ ids: ids.sort(), total, next }).toEqual({
    ids: expected.sort(),
    total: expected.length,
    next: null,
  });

  const from = all[8]!.proposed;
  const applied = all.filter((change) => change.applied !== undefined && change.applied >= from);
  const paged: string[] = [];
  for (let before: string | null = ""; before !== null;) {
    const page = await list(`event=applied&from=${from}&limit=2${before && `&before=${before}`}`);
    paged.push(...page.changes.map(({ change_id }: { change_id: string }) => change_id));
    before = page.next;
  }
  expect(paged).toHaveLength(applied.length);
  expect(new Set(paged)).toEqual(new Set(applied.map(({ id }) => id)));
});

test("a role without a name, an invalid time and an unknown `before` are rejected", async () => {
  const product = await randomLog(13, 1);
  expect((await product.get("runtime?role=proposer")).body).toMatchObject({ error: "person is needed with role" });
  expect((await product.get("runtime?from=yesterday")).status).toBe(400);
  const { body } = await product.get("runtime?kind=config&before=chg_none");
  expect(body).toMatchObject({ status: 400, fields: [{ field: "before" }] });
});

test("a page continues after its last change, even if that is no longer in the list", async () => {
  const product = await randomLog(14, 12);
  const first = (await product.get("runtime?kind=config&limit=1")).body;
  // `next` is the id of the page's last change, which leaves the list now.
  await product.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("changes", first.next))!;
    tx.put("changes", first.next, { ...value, change: { ...value.change, kind: "workflow" } } as never);
  });
  await product.propose({ kind: "experiment" });
  const rest = (await product.get(`runtime?kind=config&limit=100&before=${first.next}`)).body;
  expect(rest.changes).toHaveLength(first.total - 1);
});

test("punctuation alone is rejected, and a change is found by its complete id only", async () => {
  const product = await randomLog(15, 12);
  const { changes: all } = (await product.get("runtime?limit=100")).body;
  const list = async (text: string) => product.get(`runtime?text=${encodeURIComponent(text)}`);
  for (const text of ["!!!", " - ", ""]) {
    const { status, body } = await list(text);
    expect({ status, error: body.error }, text).toEqual({ status: 400, error: "text must hold a letter or a digit" });
  }
  const id: string = all[3].change_id;
  const found = (await list(` ${id} `)).body.changes;
  expect(found.map((change: { change_id: string }) => change.change_id)).toEqual([id]);
  expect((await list(id.split("-").at(-1)!)).body.changes, "a part of an id is no word").toEqual([]);
  const numbers = (await list("1")).body.changes.map(({ summary }: { summary: string }) => summary);
  expect(numbers, "1 is not 10").toEqual(
    all.map(({ summary }: never) => summary).filter((summary: string) => /\b1\b/.test(summary)),
  );
});

test("the list includes the requested number of the newest entries of the log", async () => {
  const product = await randomLog(16, 6);
  const { length } = (await product.get("runtime")).body.audit;
  for (const [requested, returned] of [
    [0, 0],
    [1, 1],
    [1000, length],
  ]) {
    const { audit } = (await product.get(`runtime?entries=${requested}`)).body;
    expect([audit.length, audit.entries.length], String(requested)).toEqual([length, returned]);
  }
});

const within = (time: string | undefined, from: string, to: string): boolean =>
  time !== undefined && time >= from && time < to;

test.each([1, 2, 3])("each filter of a list selects the changes that match in the random log %i", async (seed) => {
  const product = await randomLog(seed, 50);
  const list = async (query: string) => (await product.get(`runtime?${query}`)).body;
  const all = [...(await foldLog(product)).values()];
  const [from, to] = [all[20]!.proposed, all[40]!.proposed];
  const expectSame = async (query: string, isExpected: (change: LoggedChange) => boolean) => {
    const { changes, total } = await list(query);
    const expected = all.filter(isExpected).map(({ id }) => id);
    const ids = changes.map(({ change_id }: { change_id: string }) => change_id);
    expect({ ids: ids.toSorted(), total }, query).toEqual({ ids: expected.sort(), total: expected.length });
    expect(ids, "newest first").toEqual(ids.toSorted().toReversed());
  };
  await expectSame("target=ui.*&status=applied", ({ target, status }) => /^ui\./i.test(target) && status === "applied");
  await expectSame("person=BO&role=proposer", ({ proposer }) => proposer === "Bo");
  await expectSame("person=dana&role=approver", ({ approvers }) => approvers.has("dana"));
  await expectSame("person=dana&role=denier", ({ denier }) => denier === "dana");
  await expectSame("person=dana&role=decider", ({ approvers, denier }) => approvers.has("dana") || denier === "dana");
  await expectSame(
    "person=dana",
    ({ approvers, denier, proposer }) => approvers.has("dana") || denier === "dana" || proposer === "dana",
  );
  await expectSame(`from=${from}&to=${to}`, ({ proposed }) => within(proposed, from, to));
  await expectSame(`event=applied&from=${from}&to=${to}`, ({ applied }) => within(applied, from, to));
  await expectSame("event=denied", ({ denied }) => denied !== undefined);
  await expectSame(`event=rolled_back&from=${from}`, ({ rolledBack }) => (rolledBack ?? "") >= from);
  await expectSame(`event=consented&from=${from}&to=${to}&person=dana&role=approver`, ({ approvers }) =>
    within(approvers.get("dana"), from, to),
  );
  await expectSame(`text=${encodeURIComponent("number 7")}`, ({ id }) => id === all[7]!.id);
  const { outcomes } = (await product.get("outcomes?limit=1000")).body;
  for (const verdict of ["met", "missed", "inconclusive"])
    await expectSame(`verdict=${verdict}`, ({ id }) =>
      outcomes.some(
        (outcome: { change_id: string; verdict: string }) => outcome.change_id === id && outcome.verdict === verdict,
      ),
    );
});

test("the list of drifted changes shows the changes with an open episode of drift", async () => {
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
  const { changes, total } = (await product.get("runtime?drifted=true")).body;
  expect([total, changes[0].change_id]).toEqual([1, drifting]);
  expect((await product.get("runtime?drifted=false")).body.total).toBe(1);
});
