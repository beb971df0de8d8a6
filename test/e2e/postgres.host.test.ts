/** Tests several processes of the program on one database. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, client, events, PROPOSAL } from "../support/client.ts";
import { type Manifest, manifest } from "../support/intents.ts";
import { chainFault } from "../support/independent_chain.ts";
import { expectOneChain, writeConcurrently } from "../support/many_writers.ts";
import { type PostgresServer, startPostgres } from "../support/postgres_server.ts";
import { neverRespond, startWebhookHost } from "../support/webhook_host.ts";
import { killAll, launch, serve, temporaryFolder } from "./server.ts";

const server = await startPostgres();
afterAll(async () => {
  await killAll();
  await server?.stop();
});
const testWithPostgres = server ? test : test.skip;

/** A generous timeout for slow machines. */
const LONG_TIMEOUT = { timeout: 120_000 };

let databaseCount = 0;
/** Returns the address of a new, empty database. */
async function createDatabase(): Promise<string> {
  const { pool, url } = server as PostgresServer;
  const name = `e2e_${++databaseCount}`;
  await pool.query(`create database ${name}`);
  return url.replace(/[^/]*$/, name);
}

function makeFolderWithIntent(fields: Manifest = {}): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "intent.json"), JSON.stringify(manifest(fields)));
  return folder;
}

/** Starts a number of processes on one database, with a client for each. */
function start(count: number, state: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const folder = makeFolderWithIntent();
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const common = ["--product-intent=intent.json", `--agent-id=node-${index}`, "--cycle-interval=0"];
      const process = await serve(folder, [...common, ...args], { SVC_STATE: state, ...env });
      return { process, api: client((request) => fetch(request), process.url) };
    }),
  );
}

describe("several processes on one database", () => {
  let state: string;
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    if (!server) return;
    state = await createDatabase();
    started = await start(8, state);
  }, LONG_TIMEOUT.timeout);

  const written: string[] = [];
  testWithPostgres.each([2, 8])(
    "%d processes write one chain, without a fork, a loss or a repeat",
    LONG_TIMEOUT,
    async (count) => {
      const writers = started.slice(0, count).map(({ api }) => api);
      written.push(...(await writeConcurrently(writers, 3)));
      await expectOneChain(writers, written);
    },
  );

  testWithPostgres("replay each other's answers to an idempotency key", async () => {
    const [one, other] = started.map(({ api }) => api);
    const headers = { "idempotency-key": "k1" };
    const fields = { tenant_id: "t1", affected_users: "40", expected_delta_k: "1.5" };
    const first = await one!.post("propose-crm-followup", fields, headers);
    const again = await other!.post("propose-crm-followup", fields, headers);
    expect(first.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect((await one!.audit()).at(-1)).toEqual(first.body.audit_entry);
  });

  testWithPostgres(
    "lose no acknowledged entry when a process is killed under load, and continue",
    LONG_TIMEOUT,
    async () => {
      const [killed, ...others] = started;
      const before = (await others[0]!.api.audit()).length;
      const acknowledged = { killed: [] as string[], others: [] as string[] };
      let isStopped = false;
      const write = async ({ api }: { api: Client }, acknowledgedIds: string[]): Promise<void> => {
        while (!isStopped) {
          const { status, body } = await api.post("propose", PROPOSAL);
          // The database may be too slow to answer in time; such a rejected proposal is not acknowledged.
          if (status === 503) continue;
          expect(status).toBe(201);
          acknowledgedIds.push(body.change_id);
        }
      };
      const IN_FLIGHT = 4;
      const killedWrites = Array.from({ length: IN_FLIGHT }, () =>
        write(killed!, acknowledged.killed).catch(() => undefined),
      );
      const otherWrites = others.slice(0, 3).map((other) => write(other, acknowledged.others));
      await expect.poll(() => acknowledged.killed.length, LONG_TIMEOUT).toBeGreaterThan(20);
      killed!.process.child.kill("SIGKILL");
      await Promise.all([killed!.process.ended, ...killedWrites]);
      const countAtKill = acknowledged.others.length;
      await expect.poll(() => acknowledged.others.length, LONG_TIMEOUT).toBeGreaterThan(countAtKill + 10);
      isStopped = true;
      await Promise.all(otherWrites);
      const entries = await others.at(-1)!.api.audit();
      expect(chainFault(entries)).toBeNull();
      const ids = entries.slice(before).map(({ change_id }) => change_id);
      const all = [...acknowledged.killed, ...acknowledged.others];
      expect(ids).toEqual(expect.arrayContaining(all));
      // Decisions under way at the kill may have been stored, each at most once.
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length - all.length).toBeLessThanOrEqual(IN_FLIGHT);
    },
  );

  testWithPostgres(
    "reject a process of another product, and one with a wrong password, which no message shows",
    async () => {
      // The address of the test server has the password "password".
      const folder = makeFolderWithIntent({ product_id: "other" });
      const another = await launch(folder, ["--product-intent=intent.json", `--state=${state}`]);
      const wrong = await launch(folder, [`--state=${state.replace(":password@", ":sesame@")}`]);
      expect((await another.ended).code).toBe(1);
      expect(another.stderr.at(-1)).toMatch(
        /^ui_server: --state postgres:.*product_id must match; the store "countersign" is taken, so give this one a --store-name of its own$/,
      );
      expect(another.stderr.join()).not.toContain("password");
      expect((await wrong.ended).code).toBe(1);
      const address = String.raw`postgres://127\.0\.0\.1:\d+/e2e_1`;
      expect(wrong.stderr).toEqual([
        expect.stringMatching(new RegExp(`^ui_server: --state: ${address}: password authentication failed`)),
      ]);
      expect(wrong.stderr[0]).not.toContain("sesame");
    },
  );

  test.skipIf(!server || !existsSync("/proc/self/cmdline"))(
    "do not show the password in the process list, also where it was an argument",
    async () => {
      const { child } = await serve(makeFolderWithIntent(), ["--product-intent=intent.json", `--state=${state}`]);
      expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).not.toContain("password");
    },
  );

  testWithPostgres("stop cleanly, and have not logged the password", async () => {
    const { child, ended, stderr } = started[2]!.process;
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
    expect(stderr.join("\n")).toContain("/e2e_1");
    expect(stderr.join("\n")).not.toContain("password");
  });
});

const startProduct = async (state: string, product_id: string, storeOption: string[]) => {
  const folder = makeFolderWithIntent({ product_id });
  const args = ["--product-intent=intent.json", "--cycle-interval=0", ...storeOption];
  const process = await serve(folder, args, { SVC_STATE: state });
  return client((request) => fetch(request), process.url);
};

testWithPostgres(
  "two products in one database have stores of their own and do not see each other's changes",
  async () => {
    const state = await createDatabase();
    const [crm, shop] = [
      await startProduct(state, "acme-crm", []),
      await startProduct(state, "acme-shop", ["--store-name=shop"]),
    ];
    const crmChange = await crm.bring("approved", { summary: "Of the CRM" });
    expect((await shop.get(`changes/${crmChange}`)).status).toBe(404);
    const shopChange = await shop.bring("applied", { summary: "Of the shop" });
    const [crmPage, shopPage] = await Promise.all([crm, shop].map(async ({ get }) => (await get("runtime")).body));
    expect(crmPage.changes.map(({ change_id }: { change_id: string }) => change_id)).toEqual([crmChange]);
    expect(shopPage.changes.map(({ change_id }: { change_id: string }) => change_id)).toEqual([shopChange]);
    expect([crmPage.audit.origin, shopPage.audit.origin]).toEqual([
      expect.stringMatching(/^acme-crm\/audit\//),
      expect.stringMatching(/^acme-shop\/audit\//),
    ]);
    for (const { audit } of [crmPage, shopPage]) expect(chainFault(audit.entries)).toBeNull();

    const folder = makeFolderWithIntent({ product_id: "acme-crm" });
    const taken = await launch(folder, ["--product-intent=intent.json", "--store-name=shop"], { SVC_STATE: state });
    expect((await taken.ended).code).toBe(1);
    expect(taken.stderr.at(-1)).toMatch(
      /"acme-shop", the intent to "acme-crm": product_id must match; the store "shop" is taken, so give this one a --store-name of its own$/,
    );
  },
);

describe("with a host product over HTTP", () => {
  const secret = "a secret of the test";

  testWithPostgres("two processes have one effect on it, and do not log its address or secret", async () => {
    const host = await startWebhookHost(secret);
    const started = await start(2, await createDatabase(), [`--product-adapter=${host.url}`], {
      SVC_ADAPTER_SECRET: secret,
    });
    const apis = started.map(({ api }) => api);
    const change_id = await apis[0]!.bring("approved");
    const replies = await Promise.all([...apis, ...apis].map((api) => api.act("apply", change_id)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of replies)
      if (status !== 200) expect(body.code).toMatch(/^(illegal_transition|operation_in_progress)$/);
    expect(host.effects).toEqual([`apply ${change_id}`]);
    expect((await apis[1]!.change(change_id)).status).toBe("applied");
    // "sesame" is part of the host's address.
    for (const { process } of started) expect(process.stderr.join("\n")).not.toMatch(/sesame|a secret of the test/);
    await host.stop();
  });

  testWithPostgres(
    "an operation of a killed process is resumed once its lease has ended, not before",
    LONG_TIMEOUT,
    async () => {
      const host = await startWebhookHost(secret);
      const database = await createDatabase();
      const startProcesses = (count: number) =>
        start(count, database, [`--product-adapter=${host.url}`], {
          SVC_ADAPTER_SECRET: secret,
          // All clocks are a minute and a second behind, until a signal sets one of them to the present.
          NODE_OPTIONS: `--import ${new URL("../ui/shifted_clock.mjs", import.meta.url)}`,
          CLOCK_OFFSET_MS: "-61000",
          CLOCK_STEP_MS: "61000",
        });
      const [killed, other] = await startProcesses(2);
      const countApplies = (changeId: string) => () =>
        host.received.filter(({ operation, change_id }) => operation === "apply" && change_id === changeId).length;
      // A target takes one operation at a time, so each change has a target of its own.
      const approve = (target: string) => killed!.api.bring("approved", { target });
      const [applied, unapplied] = [await approve("ui.banner"), await approve("ui.theme")];
      host.planFault("apply", "after", neverRespond);
      const lostReplies = [killed!.api.act("apply", applied).catch(() => undefined)];
      await expect.poll(countApplies(applied), LONG_TIMEOUT).toBe(1);
      host.planFault("apply", "before", neverRespond);
      lostReplies.push(killed!.api.act("apply", unapplied).catch(() => undefined));
      await expect.poll(countApplies(unapplied), LONG_TIMEOUT).toBe(1);
      killed!.process.child.kill("SIGKILL");
      await Promise.all([killed!.process.ended, ...lostReplies]);
      await startProcesses(1); // a start resumes no operation either

      const apply = async (id: string) => {
        const { status, body } = await other!.api.act("apply", id);
        return `${status} ${body.code ?? body.status}`;
      };
      expect([await apply(applied), await apply(unapplied)]).toEqual(Array(2).fill("409 operation_in_progress"));
      expect(host.effects).toEqual([`apply ${applied}`]);
      other!.process.child.kill("SIGUSR2");
      let answer = "";
      await expect
        .poll(async () => (answer = await apply(applied)), LONG_TIMEOUT)
        .not.toBe("409 operation_in_progress");
      expect([answer, await apply(unapplied)]).toEqual(["400 illegal_transition", "200 applied"]);
      expect(host.effects).toEqual([`apply ${applied}`, `apply ${unapplied}`]);
      const readEvents = async (id: string) => events(await other!.api.audit(`?change_id=${id}`));
      const before = ["change_proposed", "consent_decision"];
      expect(await readEvents(applied)).toEqual([...before, "change_applied"]);
      expect(await readEvents(unapplied)).toEqual([...before, "change_apply_failed", "change_applied"]);
      expect(chainFault(await other!.api.audit())).toBeNull();
      await host.stop();
    },
  );

  test("a start fails without a secret, with two adapters, or with an unsafe address", async () => {
    const url = "--product-adapter=http://127.0.0.1:9/";
    const refusals = await Promise.all(
      [
        { args: [url], env: {}, message: "--product-adapter needs SVC_ADAPTER_SECRET, which signs what is sent" },
        {
          args: [url, "--product-config=c.json"],
          env: { SVC_ADAPTER_SECRET: "a secret of the test" },
          message: "--product-config and --product-adapter exclude each other: a product has one adapter",
        },
        {
          args: [url],
          env: { SVC_ADAPTER_SECRET: "short" },
          message: "SVC_ADAPTER_SECRET must have 16 characters or more",
        },
        {
          args: ["--product-adapter=http://acme.example/sesame"],
          env: {},
          message: "--product-adapter must be an https URL; http is for this machine only",
        },
      ].map(async ({ args, env, message }) => {
        const refused = await launch(temporaryFolder(), args, env);
        await refused.ended;
        return [refused.stderr, [`ui_server: ${message}`]];
      }),
    );
    for (const [reported, expected] of refusals) expect(reported).toEqual(expected);
  });
});
