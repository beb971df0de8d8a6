/** Runs the command line on stores, with services that use them and callers that write meanwhile. */
import { Readable, Writable } from "node:stream";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { app } from "../../../handlers/index.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { risingIds } from "../../../lib/kit/ids.ts";
import type { Store } from "../../../lib/store/store.ts";
import { run } from "../../../local/command_line/run.ts";
import { type Client, client } from "../../support/client.ts";
import { testClock } from "../../support/clock.ts";
import { openDeps } from "../../support/deps.ts";

type Environment = Readonly<Record<string, string>>;

/** The result of a command. */
export async function callCommandLine(
  env: Environment,
  ...argv: string[]
): Promise<{ code: number | void; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const never = (): Promise<never> =>
    Promise.reject(new Error("a command on stores sends no request and asks nothing"));
  const code = await run(argv, {
    env,
    columns: undefined,
    input: Readable.from([]),
    output: new Writable(),
    now: Date.now,
    fetch: never,
    confirm: never,
    run: never,
    save: never,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  });
  return { code, out: out.join(""), err: err.join("") };
}

/** Returns the output of a command that succeeds. */
export async function runCommand(env: Environment, ...argv: string[]): Promise<string> {
  const { code, out, err } = await callCommandLine(env, ...argv);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

/** Returns the message of a failing command. */
export async function runFailingCommand(env: Environment, ...argv: string[]): Promise<string> {
  const { code, err } = await callCommandLine(env, ...argv);
  expect(code).toBe(1);
  return err;
}

/** A service on a store. */
export interface Service {
  api: Client;
  store: Store;
}

/** Opens a service on a store, which is closed when the test ends or the service does not start. */
export async function startService(store: Store, { exclusive = true } = {}): Promise<Service> {
  onTestFinished(() => store.close());
  const clock = testClock(new Date().toISOString());
  const deps = await openDeps({ store, exclusive, clock, ids: risingIds() }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return { api: client(app(deps)), store };
}

/** An entry that was acknowledged. */
interface AcknowledgedEntry {
  id: number;
  current_hash: string;
}

/** Proposes by several callers until each gets the error that the store has moved; returns the acknowledged entries. */
export async function proposeUntilMoved(apis: readonly Client[]): Promise<AcknowledgedEntry[]> {
  const acknowledged: AcknowledgedEntry[] = [];
  const caller = async (api: Client, number: number): Promise<void> => {
    for (let count = 0; ; count++) {
      const fields = { tenant_id: `t${number}`, kind: "config", target: `a.${number}.${count}`, summary: "meanwhile" };
      const { status, body } = await api.json("propose", fields);
      // A proposal that is rejected immediately does not yield to the event loop, which the move needs to go on.
      await yieldToEventLoop();
      if (status === 201) acknowledged.push(body.audit_entry);
      else expect([status, body.code]).toEqual([503, expect.stringMatching(/^store_(busy|moved)$/)]);
      if (body.code === "store_moved") return;
    }
  };
  await Promise.all(apis.flatMap((api, index) => [0, 1, 2, 3].map((number) => caller(api, index * 10 + number))));
  return acknowledged;
}

/** Verifies receipts against a log. */
export async function expectEntriesStored(store: Store, acknowledged: readonly AcknowledgedEntry[]): Promise<void> {
  const { length } = (await readHead(store))!;
  const entries = await store.list("audit", { limit: length });
  const hashes = new Map(entries.map(({ value }) => [value.id, value.current_hash]));
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(acknowledged.filter(({ id, current_hash }) => hashes.get(id) !== current_hash)).toEqual([]);
}
