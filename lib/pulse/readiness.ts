import { readHead } from "../audit/chain.ts";
import type { PulseDeps } from "./deps.ts";

/** Whether the service can take writes: store writable, chain sound, intent loaded (where one is given). */
export async function readiness({ store, integrity, product }: PulseDeps) {
  const { breach } = integrity;
  const checks = {
    store: await check(() => store.transact((tx) => tx.get("meta", "identity"))),
    chain: breach
      ? { ok: false, reason: `entry ${breach.first_invalid}: ${breach.reason}` }
      : { ok: true, reason: null },
    intent: product
      ? await check(async () => requireHead(await readHead(store)))
      : { ok: true, reason: "no product intent is given" },
  };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

async function check(run: () => Promise<unknown>): Promise<{ ok: boolean; reason: string | null }> {
  try {
    await run();
    return { ok: true, reason: null };
  } catch {
    return { ok: false, reason: "the store cannot be written; see the service's log" };
  }
}

function requireHead(head: unknown): void {
  if (!head) throw new Error("the chain is not made yet");
}
