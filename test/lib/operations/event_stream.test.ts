/** The stream `/api/events`: its order, cursors, waits and limits, and a store that fails. */
import { onTestFinished, expect, test } from "vitest";
import { serveHttp } from "../../../local/node_http.ts";
import { type CommitSignal, createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { readEventsSince, parseCursor, readPresentCursor, resumeCursor } from "../../../lib/operations/event_cursor.ts";
import { createEventStream } from "../../../lib/operations/event_stream.ts";
import { catchUp } from "../../../lib/projections/catch_up.ts";
import type { Projection } from "../../../lib/projections/projection.ts";
import { projectAll } from "../../../lib/projections/projector.ts";
import { activity } from "../../../lib/projections/activity.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { runNextTask } from "../../../lib/operations/task_runner.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { tornStore } from "../../support/torn_store.ts";
import { makeFetch, openOperations } from "./operations_service.ts";

/** The cursor before the first event. The id of an event is such a cursor as text, with the numbers in this order: here `0.0.0.0`. */
const BEGINNING = { audit: 0, growth: 0, notice: 0, tick: 0 };

/** A delay longer than any test, so that only commits can send events. */
const NEVER = 1e9;

interface Received {
  id: string;
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- any JSON
  data: any;
}

const decode = (stream: ReadableStream<Uint8Array>): ReadableStream<string> =>
  stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);

/** Reads server-sent events one at a time; comments and blocks without an event are skipped. */
function reader(stream: ReadableStream<Uint8Array>) {
  const source = decode(stream).getReader();
  const waiting: Received[] = [];
  let text = "";
  return {
    next: async (): Promise<Received | undefined> => {
      while (waiting.length === 0) {
        const { value, done } = await source.read();
        if (done) return undefined;
        text += value;
        const blocks = text.split("\n\n");
        text = blocks.pop()!;
        for (const block of blocks) {
          const fields = Object.fromEntries(
            block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
          );
          if (fields["event"])
            waiting.push({ id: fields["id"]!, event: fields["event"], data: JSON.parse(fields["data"]!) });
        }
      }
      return waiting.shift();
    },
    leave: () => source.cancel(),
  };
}

/** Starts a service with a commit signal on a real port. */
async function startListening(commits: CommitSignal = createCommitSignal()) {
  const service = await openOperations({ commits });
  const server = await serveHttp(makeFetch(service.deps), { host: "127.0.0.1", port: 0, deps: service.deps });
  onTestFinished(async () => {
    commits.close();
    await server.stop();
  });
  const open = async (query = "", headers: Record<string, string> = {}) => {
    const abortReader = new AbortController();
    const response = await fetch(`${server.url}/api/events${query}`, { headers, signal: abortReader.signal });
    return { response, abortReader, ...reader(response.body!) };
  };
  return { ...service, commits, open };
}

test("each entry, growth row and tick is sent as an event", async () => {
  const { open, bring, cycle, audit } = await startListening();
  const { response, next } = await open();
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const id = await bring("rolled_back", { kpi: "csat" });
  await cycle();
  const received: Received[] = [];
  while (received.at(-1)?.event !== "tick") received.push((await next())!);
  const reported = (kind: string) => received.filter(({ event }) => event === kind).map(({ data }) => data);
  expect(reported("audit")).toEqual(await audit());
  expect(reported("growth")).toMatchObject([
    { kind: "rolled_back", ref: id },
    { kind: "outcome", ref: id },
  ]);
  expect(reported("tick")).toMatchObject([{ tick: 1 }]);
});

test("a reader that reconnects with its last id misses nothing and gets nothing twice", async () => {
  const { open, bring, cycle, audit } = await startListening();
  const first = await open();
  await bring("applied");
  const received = [(await first.next())!, (await first.next())!];
  first.abortReader.abort();
  await bring("rolled_back", { target: "ui.colour" });
  await cycle();
  // A browser reconnects with its first address, so the header has precedence over the query.
  const second = await open("?after=0.0.0.0", { "last-event-id": received[1]!.id });
  while (received.at(-1)?.event !== "tick") received.push((await second.next())!);
  expect(received.filter(({ event }) => event === "audit").map(({ data }) => data)).toEqual(await audit());
  const third = await open(`?after=${received.at(-1)!.id}`);
  await cycle();
  expect(await third.next()).toMatchObject({ event: "tick", data: { tick: 2 } });
});

test("a reader with a cursor beyond the log, as after a restore, continues with new events", async () => {
  const { open, bring, audit } = await startListening();
  await bring("applied");
  const ahead = await open("?after=1000.1000000000.1000000000.1000");
  const before = (await audit()).length;
  await bring("applied", { target: "ui.colour" });
  expect(await ahead.next()).toMatchObject({ event: "audit", data: (await audit())[before] });
});

test("a reader can continue from each id", async () => {
  const service = await openOperations();
  await service.bring("rolled_back", { kpi: "csat" });
  await service.cycle();
  const all = reader(createEventStream(service.deps, BEGINNING));
  const received: Received[] = [];
  while (received.at(-1)?.event !== "tick") received.push((await all.next())!);
  await all.leave();
  for (const [index, { id }] of received.slice(0, -1).entries()) {
    const rest = reader(
      createEventStream(service.deps, resumeCursor(await readPresentCursor(service.deps.store), parseCursor(id)!)),
    );
    expect(await rest.next()).toEqual(received[index + 1]);
    await rest.leave();
  }
});

test("a waiting stream is woken by a commit of its process", async () => {
  const commits = createCommitSignal();
  const service = await openOperations({ commits });
  const { next, leave } = reader(
    createEventStream(service.deps, BEGINNING, undefined, {
      heartbeat: NEVER,
      poll: NEVER,
      lifetime: NEVER,
    }),
  );
  const event = next();
  await service.propose();
  expect(await event).toMatchObject({ event: "audit", data: { event_type: "intent_in_force" } });
  await leave();
});

test("a commit before or during a wait ends it, and so does the end of the process", async () => {
  const commits = createCommitSignal();
  const { count } = commits;
  commits.notify();
  // Each of these waits ends; one that missed its commit would exceed the test's time limit.
  await commits.wait(count, NEVER);
  const later = commits.wait(commits.count, NEVER);
  commits.notify();
  await later;
  commits.close();
  await commits.wait(commits.count, NEVER);
});

test("writes of another process to a shared store are found by polling", async () => {
  const service = await openOperations();
  const { next, leave } = reader(
    createEventStream(service.deps, BEGINNING, undefined, {
      heartbeat: NEVER,
      poll: 5,
      lifetime: NEVER,
    }),
  );
  const event = next();
  await service.propose();
  expect(await event).toMatchObject({ event: "audit" });
  await leave();
});

test("an idle stream sends comments and ends after its lifetime", async () => {
  const { deps } = await openOperations();
  const stream = createEventStream(deps, BEGINNING, undefined, {
    heartbeat: 5,
    poll: 1,
    lifetime: 500,
  });
  const chunks: string[] = [];
  for await (const chunk of decode(stream) as unknown as AsyncIterable<string>) chunks.push(chunk);
  expect(chunks[0]).toBe("retry: 3000\n\n");
  expect(chunks.length).toBeGreaterThan(1);
  expect(new Set(chunks.slice(1))).toEqual(new Set([": \n\n"]));
});

test("a client that disconnects frees its slot; a stopping process ends every stream", async () => {
  const onLeave: (() => void)[] = [];
  const commits = createCommitSignal();
  let readers = 0;
  const countedSignal: CommitSignal = Object.create(commits, {
    join: {
      value: (max: number) => {
        const leave = commits.join(max);
        readers++;
        return () => {
          leave?.();
          readers--;
          for (const resolve of onLeave.splice(0)) resolve();
        };
      },
    },
  });
  const { open } = await startListening(countedSignal);
  const { abortReader } = await open();
  const otherReader = await open();
  expect(readers).toBe(2);
  const leaving = new Promise<void>((resolve) => onLeave.push(resolve));
  abortReader.abort();
  await leaving;
  expect(readers).toBe(1);
  commits.close();
  expect(await otherReader.next()).toBeUndefined();
  expect(readers).toBe(0);
});

test("at most 64 readers are served concurrently", async () => {
  const commits = createCommitSignal();
  const service = await openOperations({ commits });
  const fetch = makeFetch(service.deps);
  const ask = () => fetch(new Request("http://127.0.0.1/api/events"));
  const streams = await Promise.all(Array.from({ length: 64 }, ask));
  const rejected = await ask();
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({ code: "too_many_streams" });
  await streams[0]!.body!.cancel();
  expect((await ask()).status).toBe(200);
  commits.close();
});

test("at most 16 readers are served for one address, or one person named by the proxy", async () => {
  const commits = createCommitSignal();
  const service = await openOperations({ commits, identityHeader: "x-person" });
  const fetch = makeFetch(service.deps);
  const ask = async (ip: string, person?: string) => {
    const headers = person === undefined ? {} : { "x-person": person };
    return fetch(Object.assign(new Request("http://127.0.0.1/api/events", { headers }), { ip }));
  };
  const streams = await Promise.all(Array.from({ length: 16 }, () => ask("192.0.2.1")));
  expect((await ask("192.0.2.1")).status).toBe(503);
  expect((await ask("192.0.2.2")).status).toBe(200);
  for (let count = 0; count < 16; count++) expect((await ask("192.0.2.1", "ana")).status).toBe(200);
  expect((await ask("192.0.2.9", "ana")).status).toBe(503);
  expect((await ask("192.0.2.1", "bo")).status).toBe(200);
  await streams[3]!.body!.cancel();
  expect((await ask("192.0.2.1")).status).toBe(200);
  commits.close();
});

test("a reader whose stream failed with the store no longer counts towards the limit", async () => {
  const commits = createCommitSignal();
  const base = memoryStore();
  let broken = false;
  const read = <T>(work: () => Promise<T>): Promise<T> => (broken ? Promise.reject(new Error("no database")) : work());
  const service = await openOperations({
    commits,
    store: {
      ...base,
      get: (collection, id) => read(() => base.get(collection, id)),
      list: (collection, options) => read(() => base.list(collection, options)),
    },
  });
  const fetch = makeFetch(service.deps);
  const ask = () => fetch(new Request("http://127.0.0.1/api/events"));
  const streams = (await Promise.all(Array.from({ length: 64 }, ask))).map(({ body }) => body!.getReader());
  for (const stream of streams) await stream.read();
  broken = true;
  for (const stream of streams) await expect(stream.read()).rejects.toThrow("no database");
  broken = false;
  expect((await ask()).status).toBe(200);
  commits.close();
});

test("events for a slow reader are not buffered: it gets a batch when it reads", async () => {
  const commits = createCommitSignal();
  const service = await openOperations({ commits });
  const stream = createEventStream(service.deps, BEGINNING).getReader();
  await stream.read();
  // The first proposal brings the intent's own entry with it.
  for (let count = 1; count < 250; count++) await service.propose();
  const counts: number[] = [];
  while (counts.reduce((sum, count) => sum + count, 0) < 250) {
    const { value } = await stream.read();
    counts.push(new TextDecoder().decode(value).split("\nevent: ").length - 1);
  }
  expect(counts).toEqual([100, 100, 50]);
  await stream.cancel();
});

test.each(["x", "1", "1.2", "1.2.3.4.5", "-1.0.0.0", "1.2.3.9999999999999999"])(
  "an id such as %s is rejected",
  async (after) => {
    const { get } = await openOperations();
    const { status, body } = await get(`/api/events?after=${after}`);
    expect([status, body.code]).toEqual([400, "invalid_field"]);
  },
);

test("HEAD responds immediately and opens no stream", async () => {
  const { deps } = await openOperations();
  const response = await makeFetch(deps)(new Request("http://127.0.0.1/api/events", { method: "HEAD" }));
  expect(response.status).toBe(200);
  expect(response.body).toBeNull();
});

test.each(["2.7.0", "2.7.0.0.1", "2.7.0.x", ""])("the text %j is not a valid cursor", (text) => {
  expect(parseCursor(text)).toBeUndefined();
});

test("rows that are rebuilt are not sent again, and the cursor does not move back", async () => {
  const service = await openOperations();
  await service.bring("rolled_back", { kpi: "csat" });
  await service.cycle();
  const { store } = service.deps;
  const cursor = await readPresentCursor(store);
  // The growth log is built again from the first entry.
  await store.transact((tx) =>
    tx.put("cursors", "growth", { entry: 0, step: "", state: { rows: { seq: 0, count: 0 } } }),
  );
  expect(resumeCursor(await readPresentCursor(store), cursor)).toEqual(cursor);
  expect(await readEventsSince(store, cursor, 100)).toEqual([]);
  await service.bring("rolled_back", { target: "ui.other", kpi: "csat" });
  await projectAll(service.deps);
  const rows = (await readEventsSince(store, cursor, 100)).flatMap(({ type, data }) =>
    type === "growth" ? [data] : [],
  );
  expect(rows.map(({ kind }) => kind)).toEqual(["rolled_back", "outcome"]);
});

test("a row is sent when every projection of rows has passed its position", async () => {
  const service = await openOperations();
  const { store } = service.deps;
  await service.bring("rolled_back", { kpi: "csat" });
  await projectAll(service.deps);
  await service.bring("rolled_back", { target: "ui.other", kpi: "csat" });
  const rowsAt = async (): Promise<number[]> =>
    (await readEventsSince(store, BEGINNING, 100)).flatMap(({ type, cursor }) =>
      type === "growth" ? [cursor.growth] : [],
    );
  const before = await rowsAt();
  expect(before).toHaveLength(2);
  // Growth rows come from two projections, of outcomes and of activity; only the first one catches up here.
  await catchUp(service.deps, outcomes as Projection, () => true);
  expect(await rowsAt()).toEqual(before);
  await catchUp(service.deps, activity as Projection, () => true);
  const after = await rowsAt();
  expect(after).toHaveLength(4);
  expect(after).toEqual([...after].sort((a, b) => a - b));
});

test.each(["audit", "growth_rows", "outcome_rows", "notices"] as const)(
  "a page of %s that is read during a commit omits no event",
  async (collection) => {
    const { deps, bring, post } = await openOperations();
    const createEvents = async (target: string) => {
      await bring("rolled_back", { target, kpi: "csat" });
      await projectAll(deps);
      await post("/api/tasks", { title: "t" });
      await runNextTask(deps);
    };
    await createEvents("ui.banner");
    const tornDuringCommit = tornStore(deps.store, collection, () => createEvents("ui.other"));
    const events = await readEventsSince(tornDuringCommit, BEGINNING, 100);
    events.push(...(await readEventsSince(tornDuringCommit, events.at(-1)!.cursor, 100)));
    const nameOf = ({ type, data }: (typeof events)[number]): string => {
      if (type === "growth") return `growth ${data.seq}`;
      return type === "audit" ? `audit ${data.id}` : type;
    };
    const names = (list: typeof events) => list.map(nameOf).sort();
    const all = await readEventsSince(deps.store, BEGINNING, 100);
    expect(names(events)).toEqual(names(all));
    // The entry of the intent, four entries of each change, and three rows: two of each change, and one of its task.
    expect(all.filter(({ type }) => type === "audit")).toHaveLength(9);
    expect(all.filter(({ type }) => type === "growth")).toHaveLength(6);
  },
);
