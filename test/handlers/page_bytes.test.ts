/** However large the records are, one read is answered with a mebibyte of them and what leads on. */
import { beforeAll, expect, test } from "vitest";
import { PROPOSAL } from "../support/client.ts";
import { service, type TestService } from "../support/service.ts";

const CHANGES = 40;
const MOST = 1024 * 1024 + 100_000;
let api: TestService;
const ids: string[] = [];

beforeAll(async () => {
  api = await service();
  for (let made = 0; made < CHANGES; made++)
    ids.push((await api.post("propose", { ...PROPOSAL, value: JSON.stringify("x".repeat(60_000)) })).body.change_id);
});

/** Walks pages to their end. */
async function walked<T>(path: string, parameter: string, read: (body: never) => T[], next = "next"): Promise<T[]> {
  const all: T[] = [];
  for (let at: string | null = ""; at !== null;) {
    const page = await api.get(`${path}${at && `${path.includes("?") ? "&" : "?"}${parameter}=${at}`}`);
    expect(page.text.length, path).toBeLessThan(MOST);
    all.push(...read(page.body as never));
    at = page.body[next];
  }
  return all;
}

test.each(["runtime", "runtime?tenant_id=t1"])("%s", async (path) => {
  const changes = await walked(path, "before", ({ changes }: { changes: { change_id: string }[] }) => changes);
  expect(changes.map(({ change_id }) => change_id)).toEqual(ids.toReversed());
});

test("approvals", async () => {
  const pending = await walked("approvals", "after", ({ pending }: { pending: { change_id: string }[] }) => pending);
  expect(pending.map(({ change_id }) => change_id)).toEqual(ids);
});

test.each(["audit", "audit?tenant=t1"])("%s", async (path) => {
  for (const [index, change_id] of ids.entries())
    await api.post("approve", { change_id, approver: `${path}${index}`, note: "n".repeat(3500) });
  const entries = await walked(path, "before", ({ entries }: { entries: { id: number }[] }) => entries.toReversed());
  const { length } = (await api.get("audit?limit=1")).body;
  const found = entries.map(({ id }) => id);
  expect(found).toEqual([...new Set(found)].sort((a, b) => b - a));
  expect(found).toHaveLength(path === "audit" ? length : length - 1);
});
