/** The failover of crash:shared: loses the last three seconds, which each process notices with its next write. */
import type { PostgresServer } from "../support/postgres_server.ts";
import { type Acknowledged, type Load, post, wait } from "./shared_load.ts";

/** Tables of the store, in the order in which its writers lock them. */
const TABLES = ["countersign_heads", "countersign_rows"];
const LOST_MS = 3000;
const NOTICE_LIMIT_MS = 60_000;
const MAX_TRIES = 10;

/** Entries that the failover lost, and the time until it was noticed. */
export interface Failover {
  lost: ReadonlyMap<number, Acknowledged>;
  /** Milliseconds from the failover to the first rejection, by the number of the service. */
  noticedAfter: readonly number[];
}

/**
 * Restores the state of the database from three seconds ago at the same address, while all services run. Each service rejects
 * all writes until a person accepts the loss; then each runs a change from proposal to rollback.
 */
export async function loseToFailover(postgres: PostgresServer, load: Load): Promise<Failover> {
  await runInTransaction(
    postgres,
    ...TABLES.flatMap((table) => [
      `drop table if exists ${table}_copy`,
      `create table ${table}_copy as table ${table}`,
    ]),
  );
  // A process that has acknowledged nothing since the copy cannot notice a loss.
  await Promise.all([wait(LOST_MS), waitForEachAcknowledgement(load)]);
  const rejections = watchForRejections(load);
  await runInTransaction(
    postgres,
    `lock table ${TABLES.join(", ")} in access exclusive mode`,
    ...TABLES.flatMap((table) => [`delete from ${table}`, `insert into ${table} table ${table}_copy`]),
  );
  const noticedAfter = await rejections.waitForAll(performance.now());
  const { url } = load.services[0]!;
  const { length, head } = await verify(url);
  const lost = removeLost(load, length);
  if (lost.size === 0) load.fail("the failover lost no acknowledged entry");
  const fields = { actor: "ops", note: "failover", length: String(length), head };
  const accepted = await post(url, "audit/accept-loss", fields);
  if (accepted.status !== 200) load.fail(`accept-loss: ${accepted.status} ${JSON.stringify(accepted.body)}`);
  const unfrozen = await post(url, "unfreeze", { actor: "ops", note: "checked" });
  if (unfrozen.status !== 200) load.fail(`unfreeze: ${unfrozen.status} ${JSON.stringify(unfrozen.body)}`);
  for (const { number } of load.services)
    if (!(await tryCompleteChange(load, number))) load.fail(`process ${number} completes no change after accept-loss`);
  await checkExplanations(load, lost);
  return { lost, noticedAfter };
}

/** Runs a change from proposal to rollback; retries if the store was busy. */
async function tryCompleteChange(load: Load, number: number): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries++)
    if (await load.runChange(number, `crm.after_${number}_${tries}`)) return true;
  return false;
}

/** Resolves when each service has acknowledged a write. */
function waitForEachAcknowledgement({ services, onReply }: Load): Promise<void> {
  const missing = new Set(services.map(({ number }) => number));
  return new Promise((resolve) => {
    const end = onReply((number, { status }) => {
      if (status < 300) missing.delete(number);
      if (missing.size > 0) return;
      end();
      resolve();
    });
  });
}

/**
 * Watches for the first rejection of a write by each service. `waitForAll` gets the time of the failover; a write that was sent
 * later and is acknowledged is a fault.
 */
function watchForRejections(load: Load) {
  const first = new Map<number, number>();
  let since = Infinity;
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  const end = load.onReply((number, { status, body, sent }) => {
    if (body.code === "chain_broken" && !first.has(number)) first.set(number, performance.now());
    if (status < 300 && sent > since) load.fail(`process ${number} acknowledged a write after the failover`);
    if (first.size === load.services.length) resolve();
  });
  return {
    async waitForAll(failedOver: number): Promise<number[]> {
      since = failedOver;
      await Promise.race([promise, wait(NOTICE_LIMIT_MS)]);
      // Leaves time for further writes, which must be rejected too.
      await wait(1000);
      end();
      return load.services.map(({ number }) => {
        const at = first.get(number);
        if (at === undefined) load.fail(`process ${number} did not notice the failover in ${NOTICE_LIMIT_MS} ms`);
        // A service may notice before this process learns that the restore is committed.
        return Math.max((at ?? Infinity) - failedOver, 0);
      });
    },
  };
}

/** Removes and returns the receipts of lost entries; their ids may be used again once the loss is accepted. */
function removeLost({ acknowledged }: Load, length: number): Map<number, Acknowledged> {
  const lost = new Map([...acknowledged].filter(([id]) => id > length));
  for (const id of lost.keys()) acknowledged.delete(id);
  return lost;
}

/** Requires that the accepted loss explains a lost receipt of each kind of step. */
async function checkExplanations(load: Load, lost: ReadonlyMap<number, Acknowledged>): Promise<void> {
  const byStep = new Map([...lost].map(([id, { hash, step }]) => [step, { id, hash }]));
  for (const [step, { id, hash }] of byStep) {
    const { reason } = await verify(load.services[0]!.url, `?expected_length=${id}&expected_head=${hash}`);
    if (!reason?.includes("ops accepted")) load.fail(`the lost ${step}, entry ${id}, is not explained: ${reason}`);
  }
}

async function verify(url: string, query = "") {
  const response = await fetch(`${url}/api/product/audit/verify${query}`);
  return (await response.json()) as { length: number; head: string; reason?: string };
}

/** Runs statements in order in one transaction, on one snapshot of the database. */
async function runInTransaction({ pool }: PostgresServer, ...statements: string[]): Promise<void> {
  await pool.query(["begin isolation level repeatable read", ...statements, "commit"].join(";"));
}
