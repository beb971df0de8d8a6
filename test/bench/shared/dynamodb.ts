/** Measures the DynamoDB requests of a governed write, and writes a second at 4 ms a request, by one and by many writers. */
import { readFile } from "node:fs/promises";
import { countersign } from "../../../handlers/index.ts";
import type { Item, Operation } from "../../../lib/store/dynamodb/items.ts";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";

const ANSWER_MS = 4;
const CALLERS = 20;
/** The default of the parameter `WriteConcurrency` of the template. */
const WRITE_CONCURRENCY = 4;
const silent = (): void => undefined;
const QUIET = { debug: silent, info: silent, warn: silent, error: silent };

/** Requests since the last reset; `waves` counts concurrent requests as one. */
interface RequestCounts {
  requests: number;
  waves: number;
  read: number;
  written: number;
}

const noRequests = (): RequestCounts => ({ requests: 0, waves: 0, read: 0, written: 0 });

/** Creates a `fetch` that delays each response and counts requests and charged units, by the rules in AWS' documentation. */
function measuringFetch(ms: number, isCharging = true) {
  let counts = noRequests();
  let pending = 0;
  const send: typeof fetch = async (url, init) => {
    counts.requests++;
    if (pending++ === 0) counts.waves++;
    try {
      await new Promise((resolve) => setTimeout(resolve, ms));
      const response = await fetch(url, init);
      const text = await response.text();
      const operation = new Headers(init!.headers).get("x-amz-target")!.split(".")[1]!;
      if (isCharging) charge(counts, operation, JSON.parse(String(init!.body)), JSON.parse(text));
      return new Response(text, response);
    } finally {
      pending--;
    }
  };
  const take = (): RequestCounts => {
    const taken = counts;
    counts = noRequests();
    return taken;
  };
  return { send, take };
}

/** Returns the size of an item in bytes, by the rules in AWS' documentation. */
const itemBytes = (item: Item): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + name.length + valueBytes(value), 0);

/** A number has two digits a byte and one byte more; bytes are in base64; a map has three bytes more than its members. */
function valueBytes({ S, N, B, M }: Item[string]): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return N.length / 2 + 1;
  if (B) return (B.length * 3) / 4;
  return M ? itemBytes(M) + 3 : 0;
}
const countUnits = (bytes: number, unitBytes: number): number => Math.max(1, Math.ceil(bytes / unitBytes));

interface Body {
  TransactItems?: Operation[];
  RequestItems?: Record<string, { Keys: Item[] }>;
  Limit?: number;
}
interface Answer {
  Item?: Item;
  Items?: Item[];
  Responses?: Record<string, Item[]>;
}

function charge(counts: RequestCounts, operation: string, body: Body, answer: Answer): void {
  /** Units of read items; each requested item that is missing costs one. */
  const readUnits = (items: readonly Item[], requested: number): number =>
    items.reduce((sum, item) => sum + countUnits(itemBytes(item), 4096), requested - items.length);
  if (operation === "GetItem") counts.read += readUnits(answer.Item ? [answer.Item] : [], 1);
  if (operation === "BatchGetItem")
    counts.read += readUnits(
      Object.values(answer.Responses ?? {}).flat(),
      Object.values(body.RequestItems!)[0]!.Keys.length,
    );
  if (operation === "Query")
    counts.read += countUnits(
      (answer.Items ?? []).reduce((sum, item) => sum + itemBytes(item), 0),
      4096,
    );
  // A write in a transaction costs twice the units of a single one.
  for (const write of body.TransactItems ?? [])
    counts.written += 2 * ("Put" in write ? countUnits(itemBytes(write.Put.Item), 1024) : 1);
}

/** Runs the benchmark and prints the figures. */
export async function dynamoDb({ short }: { short: boolean }): Promise<void> {
  const server = await startDynamoDb();
  // Without an emulator `startDynamoDb` has printed the reason.
  if (!server) return;
  const intent = await readFile("local/example/product_intent.json", "utf8");
  let tables = 0;
  const table = async () => {
    const access = server.access(`bench-${++tables}`);
    await createTable(access);
    return access;
  };
  const open = async (access: Awaited<ReturnType<typeof table>>, send: typeof fetch) =>
    countersign({ store: dynamoDbStore({ ...access, fetch: send }), intent, longLived: false, log: QUIET });
  type Service = Awaited<ReturnType<typeof open>>;
  const post = async ({ fetch: ask }: Service, path: string, form: Record<string, string>, key?: string) => {
    const headers = { "content-type": "application/x-www-form-urlencoded", ...(key && { "idempotency-key": key }) };
    const body = new URLSearchParams(form).toString();
    const response = await ask(new Request(`http://127.0.0.1/api/product/${path}`, { method: "POST", headers, body }));
    return { status: response.status, body: (await response.json()) as { change_id: string; error?: string } };
  };
  const FORM = { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" };
  const propose = (service: Service, key?: string) => post(service, "propose-crm-followup", FORM, key);

  const { send, take } = measuringFetch(ANSWER_MS);
  const service = await open(await table(), send);
  // Warm-up, not measured.
  for (let index = 0; index < 5; index++) await propose(service);
  console.log("DynamoDB, one process that has the table to itself; requests one after another, units charged");
  const step = async (name: string, run: () => Promise<{ status: number; body: { error?: string } }>) => {
    take();
    const { status, body } = await run();
    const { waves, requests, read, written } = take();
    const reported = status < 300 ? "" : `  answered ${status}: ${body.error}`;
    console.log(
      `  ${name.padEnd(28)} ${waves} (${requests} in all), ${written} write units, ${read} read units${reported}`,
    );
  };
  const { change_id } = (await propose(service)).body;
  await step("propose", () => propose(service));
  await step("propose, Idempotency-Key", () => propose(service, crypto.randomUUID()));
  await step("approve", () => post(service, "approve", { change_id, approver: "ana" }));
  await step("apply, no adapter", () => post(service, "apply", { change_id }));
  await step("rollback", () => post(service, "rollback", { change_id }));

  const seconds = short ? 4 : 15;
  const measureRate = async (services: readonly Service[]) => {
    const ends = performance.now() + seconds * 1000;
    const answered = new Map<number, number>();
    const caller = async (target: Service) => {
      while (performance.now() < ends) {
        const { status } = await propose(target);
        answered.set(status, (answered.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(services[index % services.length]!)));
    const done = answered.get(201) ?? 0;
    const all = [...answered.values()].reduce((sum, count) => sum + count, 0);
    return `${(done / seconds).toFixed(0)} writes/s, ${((100 * (all - done)) / all).toFixed(1)} % refused`;
  };
  console.log(`  ${CALLERS} callers, ${ANSWER_MS} ms an answer, ${seconds} s each`);
  const sole = await open(await table(), measuringFetch(ANSWER_MS, false).send);
  console.log(`  one writer, all at once      ${await measureRate([sole])} (must 60/s, none)`);
  const one = { ...sole, fetch: oneAtATime(sole.fetch) };
  console.log(`  one writer, one at a time    ${await measureRate([one])} (must 60/s, none)`);
  const stack = await table();
  const instances: Service[] = [];
  for (let index = 0; index < WRITE_CONCURRENCY; index++) {
    const each = await open(stack, measuringFetch(ANSWER_MS, false).send);
    instances.push({ ...each, fetch: oneAtATime(each.fetch) });
  }
  console.log(
    `  as template.yaml has it      ${await measureRate(instances)} (${WRITE_CONCURRENCY} instances, one at a time each)`,
  );
  const shared = await table();
  const rivals: Service[] = [];
  for (let index = 0; index < CALLERS; index++) rivals.push(await open(shared, measuringFetch(ANSWER_MS, false).send));
  console.log(`  ${CALLERS} rival instances           ${await measureRate(rivals)} (must 30/s, under 5 %)`);
  await server.stop();
}

/** Sends requests one at a time, as an instance of a function gets them. */
function oneAtATime(ask: (request: Request) => Promise<Response>): typeof ask {
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const answer = last.then(() => ask(request));
    last = answer.catch(() => undefined);
    return answer;
  };
}
