/** Many instances of the service on one store: what they do at once, and what must be true of it afterwards. */
import { expect } from "vitest";
import { risingIds } from "../../lib/kit/ids.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Client, PROPOSAL, type Reply } from "./client.ts";
import { opened } from "./deps.ts";
import { chainFault } from "./independent_chain.ts";
import { makeService, type TestService } from "./service.ts";

/** An instance of the service in this process, with its own connections to a store that others share. */
export const instance = async (store: Store, node: string): Promise<TestService> =>
  makeService(await opened({ store, ids: risingIds(), owner: node }));

/** Each writer brings so many changes from proposal to rollback, all writers at once; gives their ids. */
export async function writeAtOnce(writers: readonly Client[], changes: number): Promise<string[]> {
  const all = writers.flatMap((writer, number) =>
    Array.from({ length: changes }, (_, index) => wholeLife(writer, `ui.w${number}.c${index}`)),
  );
  return Promise.all(all);
}

async function wholeLife({ post, act }: Client, target: string): Promise<string> {
  const { change_id } = await onceNotBusy(() => post("propose", { ...PROPOSAL, target }));
  for (const action of ["approve", "apply", "rollback"] as const) await onceNotBusy(() => act(action, change_id));
  return change_id;
}

/** Repeats what the store was too busy for, as a client should: how often it is depends on the machine. */
async function onceNotBusy(step: () => Promise<Reply>): Promise<Reply["body"]> {
  for (;;) {
    const { status, body, text } = await step();
    if (status < 300) return body;
    if (body?.code !== "store_busy") throw new Error(`${status} ${text}`);
  }
}

const STEPS = ["change_proposed", "consent_decision", "change_applied", "change_rolled_back"];

/** Every writer sees one chain without a fault, in which each change took each step once, in order. */
export async function expectOneChain(writers: readonly Client[], changeIds: readonly string[]): Promise<void> {
  expect(new Set(changeIds).size).toBe(changeIds.length);
  const first = await writers[0]!.audit();
  expect(chainFault(first)).toBeNull();
  // The first entry says which intent is in force.
  expect(first).toHaveLength(1 + changeIds.length * STEPS.length);
  for (const id of changeIds)
    expect(first.filter(({ change_id }) => change_id === id).map(({ event_type }) => event_type)).toEqual(STEPS);
  for (const writer of writers.slice(1)) expect(await writer.audit()).toEqual(first);
  for (const writer of writers) {
    const { valid, length } = (await writer.get("audit/verify")).body;
    expect({ valid, length }).toEqual({ valid: true, length: first.length });
    expect((await writer.change(changeIds[0]!)).status).toBe("rolled_back");
  }
}
