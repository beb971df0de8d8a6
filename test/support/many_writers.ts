/** Several instances of the service that write to one store concurrently, and the checks of the result. */
import { expect } from "vitest";
import { risingIds } from "../../lib/kit/ids.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Client, PROPOSAL, type Reply } from "./client.ts";
import { openDeps } from "./deps.ts";
import { chainFault } from "./independent_chain.ts";
import { makeService, type TestService } from "./service.ts";

/** Opens an instance of the service on a store that other instances share. */
export const openInstance = async (store: Store, node: string): Promise<TestService> =>
  makeService(await openDeps({ store, ids: risingIds(), owner: node }));

/** Brings `changes` changes of each writer concurrently from proposal to rollback; returns their ids. */
export async function writeConcurrently(writers: readonly Client[], changes: number): Promise<string[]> {
  const all = writers.flatMap((writer, number) =>
    Array.from({ length: changes }, (_, index) => bringToRollback(writer, `ui.w${number}.c${index}`)),
  );
  return Promise.all(all);
}

async function bringToRollback({ post, act }: Client, target: string): Promise<string> {
  const { change_id } = await onceNotBusy(() => post("propose", { ...PROPOSAL, target }));
  for (const action of ["approve", "apply", "rollback"] as const) await onceNotBusy(() => act(action, change_id));
  return change_id;
}

/** Repeats a request while the store is busy, as a client should. */
async function onceNotBusy(sendRequest: () => Promise<Reply>): Promise<Reply["body"]> {
  for (;;) {
    const { status, body, text } = await sendRequest();
    if (status < 300) return body;
    if (body?.code !== "store_busy") throw new Error(`${status} ${text}`);
  }
}

const STEPS_OF_CHANGE = ["change_proposed", "consent_decision", "change_applied", "change_rolled_back"];

/** Requires that all writers read the same valid chain, in which each change has each of its steps once, in order. */
export async function expectOneChain(writers: readonly Client[], changeIds: readonly string[]): Promise<void> {
  expect(new Set(changeIds).size).toBe(changeIds.length);
  const first = await writers[0]!.audit();
  expect(chainFault(first)).toBeNull();
  // The first entry is `intent_in_force`.
  expect(first).toHaveLength(1 + changeIds.length * STEPS_OF_CHANGE.length);
  for (const id of changeIds)
    expect(first.filter(({ change_id }) => change_id === id).map(({ event_type }) => event_type)).toEqual(
      STEPS_OF_CHANGE,
    );
  for (const writer of writers.slice(1)) expect(await writer.audit()).toEqual(first);
  for (const writer of writers) {
    const { valid, length } = (await writer.get("audit/verify")).body;
    expect({ valid, length }).toEqual({ valid: true, length: first.length });
    expect((await writer.change(changeIds[0]!)).status).toBe("rolled_back");
  }
}
