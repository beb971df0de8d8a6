/** Measures proposals a second on Postgres, compared with an SQL function that chains entries, called by as many clients. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Pool } from "pg";
import { startPostgres } from "../../support/postgres_server.ts";
// @ts-expect-error -- plain JavaScript
import { followUp, load, median } from "../load.mjs";
// @ts-expect-error -- plain JavaScript
import { processorTime } from "../cpu_time.mjs";
import { slowLink } from "./slow_link.ts";

const CLIENTS = 64;

/** The minimum work of any service: appends an entry with the hash of the previous one, and stores the change. */
const PLAIN_FUNCTION = `
create table plain_head (n bigint not null, hash text not null);
insert into plain_head values (0, repeat('0', 64));
create table plain_entries (id bigint primary key, text text not null, hash text not null);
create table plain_changes (id text primary key, text text not null);
create function plain_propose(change_id text, entry text, change text) returns text language plpgsql as $$
declare last plain_head; made text;
begin
  select * into last from plain_head for update;
  made := encode(sha256(convert_to(last.hash || entry, 'UTF8')), 'hex');
  insert into plain_entries values (last.n + 1, entry, made);
  insert into plain_changes values (change_id, change);
  update plain_head set n = last.n + 1, hash = made;
  return made;
end $$;`;

interface Service {
  child: ChildProcess;
  port: number;
}

async function startService(url: string, folder: string, store = "countersign"): Promise<Service> {
  const args = ["--port", "0", "--cycle-interval", "0", "--state", url, "--evolved-dir", join(folder, store)];
  args.push("--store-name", store);
  const intent = ["--product-intent", "dist/local/example/product_intent.json"];
  const child = spawn(process.execPath, ["dist/local/ui_server.js", ...args, ...intent], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, url: address } = JSON.parse(line) as { message: string; url: string };
    if (message !== "listening") continue;
    child.stderr.resume();
    return { child, port: Number(new URL(address).port) };
  }
  throw new Error("the service did not start");
}

async function stop({ child }: Service): Promise<void> {
  child.kill("SIGTERM");
  if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
}

/** Figures of one or more services under load. */
interface Rate {
  /** Proposals a second. */
  perSecond: number;
  /** Processor time of the services, in microseconds a proposal. */
  cpu: number;
  /** Proposals a commit. */
  perCommit: number;
  /** Attempts a commit; above 1 if processes conflict. */
  tries: number;
}

/**
 * Returns the number of commits of a store, and of attempts: the collection without a name (`WRITERS`) has a record for each
 * process, whose revision is the number of commits that the process has tried.
 */
type Counter = () => Promise<{ commits: number; tries: number }>;

const makeCounter =
  (pool: Pool, store: string): Counter =>
  async () => {
    const { rows } = await pool.query<{ commits: number; tries: number }>(
      `select commits::float8, (select coalesce(sum(revision), 0)::float8 from countersign_rows
         where store = $1 and collection = '') as tries from countersign_heads where store = $1`,
      [store],
    );
    return rows[0]!;
  };

const sumCpuTime = async (services: readonly Service[]): Promise<number> =>
  ((await Promise.all(services.map(processorTime))) as number[]).reduce((sum, time) => sum + time, 0);

async function measureProposals(services: readonly Service[], count: number, readCounts: Counter): Promise<Rate> {
  const [before, from] = [await sumCpuTime(services), await readCounts()];
  const began = performance.now();
  await Promise.all(
    services.map(({ port }) =>
      load({
        port,
        request: () => followUp,
        expected: 201,
        count: count / services.length,
        connections: Math.floor(CLIENTS / services.length),
      }),
    ),
  );
  const perSecond = count / ((performance.now() - began) / 1000);
  const to = await readCounts();
  const commits = to.commits - from.commits;
  const cpu = ((await sumCpuTime(services)) - before) / count;
  return { perSecond, cpu, perCommit: count / commits, tries: (to.tries - from.tries) / commits };
}

async function measurePlainFunction(pool: Pool, count: number): Promise<Rate> {
  const [entry, change] = ["e".repeat(800), "c".repeat(1000)];
  let sent = 0;
  const began = performance.now();
  const client = async (): Promise<void> => {
    const connection = await pool.connect();
    while (sent < count)
      await connection.query("select plain_propose($1, $2, $3)", [
        `${process.hrtime.bigint()}-${sent++}`,
        entry,
        change,
      ]);
    connection.release();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { perSecond: count / ((performance.now() - began) / 1000), cpu: NaN, perCommit: 1, tries: 1 };
}

/** Runs the benchmark and prints the figures. */
export async function postgres({ short }: { short: boolean }): Promise<void> {
  const server = await startPostgres();
  // `startPostgres` has printed why there is none.
  if (!server) return;
  const folder = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  const [rounds, count] = short ? [3, 1500] : [7, 6000];
  const pool = new Pool({ connectionString: server.url, max: CLIENTS });
  pool.on("error", () => undefined);
  await pool.query(PLAIN_FUNCTION);
  const urlWithPort = (port: number) => server.url.replace(/:\d+\//, `:${port}/`);
  const serverPort = Number(new URL(server.url).port);
  const link = await slowLink(serverPort, 2);
  const services: Service[] = [];
  for (let index = 0; index < 3; index++) services.push(await startService(server.url, folder));
  // Each on its own store, so that only the network makes a difference.
  const [near, far] = [
    await startService(server.url, folder, "near"),
    await startService(urlWithPort(link.port), folder, "far"),
  ];
  const one = services.slice(0, 1);
  try {
    const counters = {
      countersign: makeCounter(pool, "countersign"),
      near: makeCounter(pool, "near"),
      far: makeCounter(pool, "far"),
    };
    // The rates of the warm-up are not used, so any counter will do.
    for (const warm of [services, [near], [far], one]) await measureProposals(warm, 3000, counters.countersign);
    const rates = {
      plain: [] as Rate[],
      one: [] as Rate[],
      three: [] as Rate[],
      near: [] as Rate[],
      far: [] as Rate[],
    };
    for (let round = 0; round < rounds; round++) {
      rates.plain.push(await measurePlainFunction(pool, count));
      rates.one.push(await measureProposals(one, count, counters.countersign));
      rates.three.push(await measureProposals(services, count, counters.countersign));
      rates.near.push(await measureProposals([near], count, counters.near));
      rates.far.push(await measureProposals([far], count, counters.far));
    }
    const formatRatio = (name: keyof typeof rates, other: keyof typeof rates) =>
      median(rates[name].map(({ perSecond }, index) => perSecond / rates[other][index]!.perSecond)).toFixed(2);
    const describeRate = (name: keyof typeof rates) => {
      const figure = (key: keyof Rate): number => median(rates[name].map((measured) => measured[key]));
      const details = `${Math.round(figure("cpu"))} µs each, ${figure("perCommit").toFixed(1)} a commit, ${figure("tries").toFixed(2)} tries a commit`;
      return `${Math.round(figure("perSecond"))}/s${name === "plain" ? "" : `, ${details}`}`;
    };
    const busy = loadavg()[0]!.toFixed(1);
    console.log(
      `Postgres, ${CLIENTS} clients, ${rounds} rounds of ${count}; ratios are medians of the rounds; load of the machine ${busy}`,
    );
    console.log(`  plain chained SQL function   ${describeRate("plain")}`);
    console.log(
      `  one process                  ${describeRate("one")}, ${formatRatio("one", "plain")} of the plain function (goal: at least 1.0)`,
    );
    console.log(
      `  three processes              ${describeRate("three")}, ${formatRatio("three", "one")} of one (goal: at least 0.8)`,
    );
    console.log(
      `  one alone                    ${describeRate("near")}, ${formatRatio("near", "plain")} of the plain function`,
    );
    console.log(
      `  one alone, 2 ms away         ${describeRate("far")}, ${formatRatio("far", "near")} of that (goal: at least 0.67)`,
    );
  } finally {
    await Promise.all([...services, near, far].map(stop));
    link.stop();
    await pool.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
