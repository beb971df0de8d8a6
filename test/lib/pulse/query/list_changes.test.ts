/** Lists that clients narrow: over HTTP as over MCP, with how far was looked. */
import { expect, test } from "vitest";
import { idsFrom } from "../../../../lib/pulse/query/change_query.ts";
import { look } from "../../../../lib/pulse/query/look.ts";
import { randomLog, toldBy } from "./random_log.ts";

test("a list is narrowed by whatever is given, page by page, and says how far it looked", async () => {
  const product = await randomLog(11, 30);
  const list = async (query: string) => (await product.get(`runtime?${query}`)).body;
  const all = [...(await toldBy(product)).values()];
  const wanted = all.filter(({ proposer, tenant }) => proposer === "dana" && tenant === "t1").map(({ id }) => id);
  const { changes, total, looked, complete, next } = await list("person=DANA&role=proposer&tenant_id=t1");
  const ids = changes.map(({ change_id }: { change_id: string }) => change_id);
  expect({ ids: ids.sort(), total, looked, complete, next }).toEqual({
    ids: wanted.sort(),
    total: wanted.length,
    looked: 30,
    complete: true,
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

test("without any of these fields a list is what it was", async () => {
  const product = await randomLog(12, 10);
  const { total, ...answer } = (await product.get("runtime?limit=3&tenant_id=t1")).body;
  expect(total).toBe(10);
  expect(answer).not.toHaveProperty("looked");
});

test("a role is somebody's, and what is no time is refused", async () => {
  const product = await randomLog(13, 1);
  expect((await product.get("runtime?role=proposer")).body).toMatchObject({ error: "person is needed with role" });
  expect((await product.get("runtime?from=yesterday")).status).toBe(400);
});

test("a page goes on where its last change stood, also when that is none of the list any more", async () => {
  const product = await randomLog(14, 12);
  const first = (await product.get("runtime?kind=config&limit=1")).body;
  await product.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("changes", first.next))!;
    tx.put("changes", first.next, { ...value, change: { ...value.change, kind: "workflow" } } as never);
  });
  await product.propose({ kind: "experiment" });
  const rest = (await product.get(`runtime?kind=config&limit=100&before=${first.next}`)).body;
  expect(rest.changes).toHaveLength(first.total - 1);
});

test("words are words: signs alone are refused, an id is found whole and not by its parts", async () => {
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

test("the newest entries of the log come along as many as are asked for", async () => {
  const product = await randomLog(16, 6);
  const { length } = (await product.get("runtime")).body.audit;
  for (const [asked, shown] of [
    [0, 0],
    [1, 1],
    [1000, length],
  ]) {
    const { audit } = (await product.get(`runtime?entries=${asked}`)).body;
    expect([audit.length, audit.entries.length], String(asked)).toEqual([length, shown]);
  }
});

test("a search through many long texts lets other work have its turn, and finds each that fits", async () => {
  const product = await randomLog(17, 3);
  const [first] = (await look(product.deps)).rows;
  const rows = Array.from({ length: 2200 }, (_, at) => ({
    ...first!,
    change_id: `chg_${at}`,
    rationale: at % 2 === 0 ? "For the seats" : "",
  }));
  let turns = 0;
  let done = false;
  const count = () => void (done || (turns++, setImmediate(count)));
  setImmediate(count);
  const seen = { rows, looked: rows.length, complete: true };
  const ids = await idsFrom(product.deps, seen, { text: "seats" });
  done = true;
  expect(ids).toHaveLength(1100);
  expect(turns).toBeGreaterThanOrEqual(4);
});
