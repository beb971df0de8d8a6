/** Verifies that a page of large records ends near one mebibyte and has a cursor for the next page. */
import { beforeAll, expect, test } from "vitest";
import { PROPOSAL } from "../support/client.ts";
import { service, type TestService } from "../support/service.ts";

/** Together 2.4 MB of values, so three pages. */
const CHANGES = 40;
/** A page ends with the record that reaches one mebibyte; a record has some 60 KB. */
const MAX_PAGE_BYTES = 1024 * 1024 + 100_000;
let api: TestService;
const ids: string[] = [];

beforeAll(async () => {
  api = await service();
  for (let index = 0; index < CHANGES; index++)
    ids.push((await api.post("propose", { ...PROPOSAL, value: JSON.stringify("x".repeat(60_000)) })).body.change_id);
});

/** Reads all pages and returns their items. */
async function readAllPages<T>(
  path: string,
  parameter: string,
  read: (body: never) => T[],
  next = "next",
): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const separator = path.includes("?") ? "&" : "?";
    const page = await api.get(cursor ? `${path}${separator}${parameter}=${cursor}` : path);
    expect(page.text.length, path).toBeLessThan(MAX_PAGE_BYTES);
    all.push(...read(page.body as never));
    cursor = page.body[next];
  }
  return all;
}

test.each(["runtime", "runtime?tenant_id=t1"])("pages of %s have every change once", async (path) => {
  const changes = await readAllPages(path, "before", ({ changes }: { changes: { change_id: string }[] }) => changes);
  expect(changes.map(({ change_id }) => change_id)).toEqual(ids.toReversed());
});

test("pages of approvals have every pending change once", async () => {
  const pending = await readAllPages(
    "approvals",
    "after",
    ({ pending }: { pending: { change_id: string }[] }) => pending,
  );
  expect(pending.map(({ change_id }) => change_id)).toEqual(ids);
});

test.each(["audit", "audit?tenant=t1"])("pages of %s have every entry once", async (path) => {
  // Notes make the entries of consents large too.
  for (const [index, change_id] of ids.entries())
    await api.post("approve", { change_id, approver: `${path}${index}`, note: "n".repeat(3500) });
  const entries = await readAllPages(path, "before", ({ entries }: { entries: { id: number }[] }) =>
    entries.toReversed(),
  );
  const { length } = (await api.get("audit?limit=1")).body;
  const found = entries.map(({ id }) => id);
  expect(found).toEqual([...new Set(found)].sort((a, b) => b - a));
  // The entry of the intent has no tenant.
  expect(found).toHaveLength(path === "audit" ? length : length - 1);
});
