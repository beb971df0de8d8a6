/** Reads of the audit log: receipts, pages, filters, export and verify. */
import { expect, test } from "vitest";
import { sha256 } from "../../../local/node_ports.ts";
import { type Client, PROPOSAL, type Reply } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import { chainFault } from "../../support/independent_chain.ts";
import type { Open } from "../http_contract.ts";

const ZEROS = "0".repeat(64);

/** Number of entries that `writeLog` writes. */
const LENGTH = 12;
/** Writes the entry of the manifest, changes of three tenants in three statuses, and two feeds; returns the entries. */
async function writeLog(api: Client): Promise<Reply["body"][]> {
  await api.bring("rolled_back", { tenant_id: "t1" });
  await api.post("kpi", { csat: 4 });
  await api.bring("denied", { tenant_id: "t2" });
  await api.bring("applied", { tenant_id: "t3", target: "ui.other" });
  await api.post("kpi", { csat: 5 });
  return api.audit();
}

/** Returns the ids on all pages of a query, following `next`. */
async function readPages(api: Client, query: string, cursor: "before" | "after", start?: number): Promise<number[][]> {
  const pages: number[][] = [];
  let next: number | null = start ?? null;
  do {
    const { body } = await api.get(`audit?${query}${next === null ? "" : `&${cursor}=${next}`}`);
    pages.push(body.entries.map(({ id }: { id: number }) => id));
    next = body.next;
  } while (next !== null && pages.length < 50);
  return pages;
}

const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

export function auditRules(open: Open): void {
  test("every write returns its entry as it is in the log", async () => {
    const api = await open();
    const receipts: Reply["body"][] = [];
    const storeReceipt = async (reply: Promise<Reply>) => {
      const { body } = await reply;
      receipts.push(body.audit_entry);
      return body.change_id;
    };
    const first = await storeReceipt(
      api.post("propose-crm-followup", { tenant_id: "t", affected_users: 1, expected_delta_k: 1 }),
    );
    const second = await storeReceipt(api.post("propose", PROPOSAL));
    const third = await storeReceipt(api.post("propose", PROPOSAL));
    await storeReceipt(api.act("approve", first));
    await storeReceipt(api.act("deny", second));
    await storeReceipt(api.act("withdraw", third));
    await storeReceipt(api.act("apply", first));
    await storeReceipt(api.post("kpi", { csat: 1 }));
    await storeReceipt(api.act("rollback", first));
    expect(receipts).toHaveLength(9);
    expect(await api.steps()).toEqual(receipts);
  });

  test("the log of a new service is empty and valid", async () => {
    const api = await open();
    expect((await api.get("audit")).body).toMatchObject({ entries: [], next: null, length: 0, head: ZEROS });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: 0, head: ZEROS });
    expect((await api.get("audit?format=jsonl")).text).toBe("");
  });

  test("an independent implementation finds the chain valid", async () => {
    const api = await open();
    const entries = await writeLog(api);
    expect(chainFault(entries)).toBeNull();
    expect(entries[0].previous_hash).toBe(ZEROS);
    expect(entries[0].origin).toMatch(/^acme-crm\/audit\/[0-9a-f]{16,}$/);
    const { body } = await api.get("audit");
    expect(body).toMatchObject({ length: LENGTH, head: entries.at(-1).current_hash, origin: entries[0].origin });
  });

  test("two logs have different origins", async () => {
    const origins = await Promise.all([1, 2].map(async () => (await (await open()).get("audit")).body.origin));
    expect(origins[0]).not.toBe(origins[1]);
  });

  test("the export has every entry in order, one a line", async () => {
    const api = await open();
    const entries = await writeLog(api);
    const { text, headers } = await api.get("audit?format=jsonl");
    expect(headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(text.endsWith("\n")).toBe(true);
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(entries);
  });

  test.each(["before=9", "after=1", "change_id=chg_1", "tenant=t1", "event_type=change_proposed"])(
    "an export with a filter is rejected: %s",
    async (filter) => {
      const api = await open();
      for (const format of ["jsonl", "csv"]) {
        const { status, body } = await api.get(`audit?format=${format}&${filter}`);
        expect([status, body.code]).toEqual([400, "invalid_field"]);
        expect(body.error).toContain(`${filter.split("=")[0]} does not go with format=${format}`);
      }
    },
  );

  test("the export with contents has each content after its entry, as it was hashed", async () => {
    const api = await open();
    const { change_id, digest } = await api.propose({ value: '{"on":true}' });
    const reply = await api.get("export");
    expect(reply.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect((await api.get("audit?format=jsonl&contents=1")).text).toBe(reply.text);
    const [first, intent, second, change, ...more] = reply.text.split("\n");
    expect(more).toEqual([""]);
    const entries = await api.audit();
    expect([first, second].map((line) => JSON.parse(line!))).toEqual(entries);
    const { manifest_hash } = JSON.parse(entries[0].detail);
    const manifest = intent!.slice(`{"manifest_hash":"${manifest_hash}","manifest":`.length, -1);
    const content = change!.slice(`{"change_id":"${change_id}","content":`.length, -1);
    expect([manifest, content].map(sha256)).toEqual([manifest_hash, digest]);
  });

  test("erased content is not in any read, and the log stays valid", async () => {
    const api = await open();
    const change_id = await api.bring("denied", { summary: "Wombat", value: '"wombat"' });
    const { digest } = await api.change(change_id);
    const reply = await api.post("erase", { change_id, actor: "dpo", note: "asked for" });
    expect(reply).toMatchObject({ status: 200, body: { change_id, change: { summary: "erased", digest } } });
    expect((await api.steps()).at(-1)).toEqual(reply.body.audit_entry);
    for (const path of ["runtime", `changes/${change_id}`, `changes/${change_id}/certificate`, "export"]) {
      const { status, text } = await api.get(path);
      expect(status, path).toBe(200);
      expect(text, path).not.toMatch(/wombat/i);
    }
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
    const rejected = await api.post("erase", { change_id: await api.bring("applied", { value: "1" }), actor: "dpo" });
    expect(rejected).toMatchObject({ status: 409, body: { code: "content_needed" } });
  });

  test("the entries of 200 concurrent proposals form one valid chain", async () => {
    const api = await open();
    const replies = await Promise.all(Array.from({ length: 200 }, () => api.post("propose", PROPOSAL)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    const entries = await api.audit();
    expect(entries.map(({ id }) => id)).toEqual(upTo(201));
    expect(chainFault(entries)).toBeNull();
    expect(new Set(replies.map(({ body }) => body.change_id)).size).toBe(200);
    const changes = entries.filter(({ event_type }) => event_type === "change_proposed");
    expect(new Set(changes.map(({ change_id }) => change_id)).size).toBe(200);
    expect((await api.get("runtime?limit=1")).body.total).toBe(200);
  });

  test.each([1, 2, 3, 5, 10, 11, 12, 1000])("pages of %i visit every entry once, in both directions", async (limit) => {
    const api = await open();
    const { length } = await writeLog(api);
    const backward = await readPages(api, `limit=${limit}`, "before");
    expect(backward.reverse().flat()).toEqual(upTo(length));
    expect(backward.every((page) => page.length <= limit)).toBe(true);
    const descending = await readPages(api, `limit=${limit}&order=desc`, "before");
    expect(descending.flat()).toEqual(upTo(length).reverse());
    const forward = await readPages(api, `limit=${limit}`, "after", 0);
    expect(forward.flat()).toEqual(upTo(length));
  });

  test.each([
    "tenant=t1",
    "tenant=t3",
    "event_type=change_proposed",
    "tenant=t3&event_type=change_applied",
    "tenant=nobody",
  ])("pages with %s visit every match once", async (filter) => {
    const api = await open();
    const all = await writeLog(api);
    const query = new URLSearchParams(filter);
    const expectedIds = all
      .filter((entry) => [...query].every(([key, value]) => entry[key] === value))
      .map(({ id }: { id: number }) => id);
    for (const limit of [1, 2, 1000]) {
      expect((await readPages(api, `${filter}&limit=${limit}`, "before")).reverse().flat()).toEqual(expectedIds);
      expect((await readPages(api, `${filter}&limit=${limit}`, "after", 0)).flat()).toEqual(expectedIds);
    }
  });

  test("pages by change visit its entries once, with and without another filter", async () => {
    const api = await open();
    const all = await writeLog(api);
    const { change_id } = all.find(({ event_type }) => event_type === "change_proposed");
    const expectedIds = all.filter((entry) => entry.change_id === change_id).map(({ id }) => id);
    expect(expectedIds).toHaveLength(4);
    for (const limit of [1, 3, 4]) {
      const filter = `change_id=${change_id}&limit=${limit}`;
      expect((await readPages(api, filter, "before")).reverse().flat()).toEqual(expectedIds);
      expect((await readPages(api, filter, "after", 0)).flat()).toEqual(expectedIds);
      expect((await readPages(api, `${filter}&event_type=change_applied`, "before")).flat()).toEqual([expectedIds[2]]);
      expect((await readPages(api, `${filter}&tenant=t2`, "before")).flat()).toEqual([]);
    }
    expect((await api.get("audit?change_id=chg_none")).body).toMatchObject({ entries: [], next: null, length: LENGTH });
  });

  test("before and after are exclusive, and may be outside the log", async () => {
    const api = await open();
    await writeLog(api);
    const readIds = async (query: string) => (await api.audit(`?${query}`)).map(({ id }) => id);
    const lastTwo = [LENGTH - 1, LENGTH];
    expect(await readIds("before=3")).toEqual([1, 2]);
    expect(await readIds("before=1")).toEqual([]);
    expect(await readIds("before=0")).toEqual([]);
    expect(await readIds("before=999")).toEqual(upTo(LENGTH));
    expect(await readIds(`after=${LENGTH - 2}`)).toEqual(lastTwo);
    expect(await readIds(`after=${LENGTH}`)).toEqual([]);
    expect(await readIds("after=999")).toEqual([]);
    expect(await readIds("limit=2")).toEqual(lastTwo);
    expect(await readIds("after=3&limit=2&order=desc")).toEqual([5, 4]);
  });

  test.each([
    "limit=0",
    "limit=1001",
    "limit=1.5",
    "limit=",
    "limit=ten",
    "before=-1",
    "after=x",
    "order=up",
    "event_type=nothing",
    "format=xml",
  ])("audit?%s is rejected", async (query) => {
    expect(await (await open()).get(`audit?${query}`)).toMatchObject({ status: 400, body: { code: "invalid_field" } });
  });

  test("verify reports not_checked unless it gets the expected length and head", async () => {
    const api = await open();
    const entries = await writeLog(api);
    const head = entries.at(-1).current_hash;
    const verify = async (query = "") => (await api.get(`audit/verify${query}`)).body;
    const state = { compared: expect.any(Number), mismatched: 0, mismatches: [], unsettled: 0 };
    const validReport = { valid: true, length: LENGTH, head, first_invalid: null, reason: null, state, losses: [] };
    expect(await verify()).toEqual({ ...validReport, not_checked: ["tail_truncation", "full_rewrite"] });
    expect(await verify(`?expected_length=${LENGTH}`)).toEqual({ ...validReport, not_checked: ["full_rewrite"] });
    expect(await verify(`?expected_head=${head}`)).toEqual({ ...validReport, not_checked: [] });
    expect(await verify(`?expected_length=${LENGTH}&expected_head=${head}`)).toEqual({
      ...validReport,
      not_checked: [],
    });
  });

  test("an earlier expected length and head are still valid after the log has grown", async () => {
    const api = await open();
    const entries = await writeLog(api);
    for (const stored of [entries[0], entries[6], entries.at(-1)]) {
      const query = `expected_length=${stored.id}&expected_head=${stored.current_hash}`;
      expect((await api.get(`audit/verify?${query}`)).body.valid).toBe(true);
    }
    expect((await api.get(`audit/verify?expected_length=0&expected_head=${ZEROS}`)).body.valid).toBe(true);
  });

  test.each([
    [`expected_length=${LENGTH + 1}`, LENGTH + 1],
    [`expected_length=${LENGTH}&expected_head=${"a".repeat(64)}`, LENGTH],
    [`expected_length=4&expected_head=${"a".repeat(64)}`, 4],
    [`expected_head=${"a".repeat(64)}`, LENGTH],
    [`expected_length=0&expected_head=${"a".repeat(64)}`, 0],
  ])("verify?%s finds the log invalid", async (query, first_invalid) => {
    const api = await open();
    await writeLog(api);
    const { body } = await api.get(`audit/verify?${query}`);
    expect(body).toMatchObject({ valid: false, first_invalid, reason: expect.any(String), length: LENGTH });
    expect((await api.post("kpi", { csat: 4 })).status, "wrong expectations of a caller do not stop writes").toBe(200);
  });

  test.each(["expected_head=abc", `expected_head=${"A".repeat(64)}`, "expected_length=-1", "expected_length=x"])(
    "verify?%s is rejected",
    async (query) => {
      expect((await (await open()).get(`audit/verify?${query}`)).status).toBe(400);
    },
  );

  test("timestamps do not decrease when the clock is set back", async () => {
    const api = await open();
    for (const step of [0, 10 * SECOND, -3600 * SECOND, SECOND, 4000 * SECOND]) {
      api.advance(step);
      await api.propose();
    }
    const times = (await api.steps()).map(({ timestamp }) => Date.parse(timestamp) / SECOND);
    // The last step puts the clock ahead of the log again: 10 - 3600 + 1 + 4000 = 411.
    expect(times.map((time) => Math.round(time - times[0]!))).toEqual([0, 10, 10, 10, 411]);
    expect(chainFault(await api.audit())).toBeNull();
  });

  test("a clock that is more than 24 hours behind the log is rejected", async () => {
    const api = await open();
    await api.propose();
    api.advance(-24 * 3600 * SECOND);
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
    api.advance(-1);
    expect(await api.post("propose", PROPOSAL)).toMatchObject({ status: 503, body: { code: "clock_behind" } });
    expect(await api.steps()).toHaveLength(2);
    api.advance(SECOND);
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });
}
