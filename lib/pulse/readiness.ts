import { readHead } from "../audit/chain.ts";
import type { PulseDeps } from "./deps.ts";

/** Whether the service can take writes: store writable, chain sound, intent loaded (where one is given). */
export async function readiness({ store, integrity: { breach }, product }: PulseDeps) {
  const held = (ok: boolean, reason: string) => ({ ok, reason: ok ? null : reason });
  const check = async (run: () => Promise<boolean>) =>
    held(await run().catch(() => false), "the store cannot be written; see the service's log");
  const checks = {
    store: await check(() => store.transact((tx) => tx.get("meta", "identity").then(() => true))),
    chain: held(!breach, `entry ${breach?.first_invalid}: ${breach?.reason}`),
    intent: product
      ? await check(async () => (await readHead(store)) !== undefined)
      : { ok: true, reason: "no product intent is given" },
  };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}
