/** Finds deliveries that did not arrive, and requests them again, since GitHub does not repeat them by itself. */
import * as z from "zod";
import { type GithubApp, GithubFailed, parseJson } from "../../github/app.ts";
import type { GithubGate } from "../../github/gate.ts";
import { DAY_MS } from "../../kit/days.ts";
import { once } from "../../kit/once.ts";
import type { OperationsDeps } from "../deps.ts";

declare module "../../store/store.ts" {
  interface Meta {
    github_sweeps: Readonly<Record<string, Sweep>>;
  }
}

/** The sweeps of one App. Times in milliseconds since the epoch. */
export interface Sweep {
  due: number;
  /** Earlier deliveries are no longer checked. */
  since: number;
}

const SWEEP_INTERVAL_MS = 5 * 60_000;
/** GitHub repeats no older delivery. */
const MAX_AGE_MS = 3 * DAY_MS;
/** Longest time that a delivery may be under way; includes differences between clocks. */
const MAX_DELIVERY_MS = 60_000;
/** Pages of a hundred deliveries that one sweep reads; older deliveries of a busy App are not checked. */
const MAX_PAGES = 20;
/** Attempts at one delivery, after which it is given up. */
const MAX_ATTEMPTS = 20;

interface SweepResult {
  /** When the next sweep is due. */
  due: number;
  failure: string | null;
}

/** Sweeps the Apps whose sweep is due. Errors: those of the store. */
export async function sweepDeliveries(deps: OperationsDeps, stopped?: AbortSignal): Promise<SweepResult> {
  const { clock, product, log } = deps;
  const gates = product?.adapter?.githubGates ?? [];
  let next = Infinity;
  let failure: string | null = null;
  for (const gate of gates) {
    const { claimed, due } = await claimSweep(deps, gate);
    next = Math.min(next, due);
    if (!claimed || stopped?.aborted) continue;
    try {
      const since = await sweep(gate.app, { since: claimed.since, now: clock.now(), stopped });
      await saveSweep(deps, gate, { due, since });
    } catch (error) {
      if (!(error instanceof GithubFailed)) throw error;
      failure = `lost deliveries could not be looked for: ${error.message}`;
      log.warn("lost deliveries of GitHub could not be looked for", { gate: gate.name, failure: error.message });
    }
  }
  return { due: next, failure };
}

/** Claims the sweep of a gate for this process if it is due. */
const claimSweep = (
  { store, clock }: OperationsDeps,
  { name }: GithubGate,
): Promise<{ claimed?: Sweep; due: number }> =>
  store.transact(async (tx) => {
    const now = clock.now();
    const sweeps = (await tx.get("meta", "github_sweeps"))?.value ?? {};
    const current = Object.hasOwn(sweeps, name) ? sweeps[name]! : { due: now, since: now - MAX_AGE_MS };
    if (current.due > now) return { due: current.due };
    const due = now + SWEEP_INTERVAL_MS;
    tx.put("meta", "github_sweeps", { ...sweeps, [name]: { ...current, due } });
    return { claimed: current, due };
  });

const saveSweep = ({ store }: OperationsDeps, { name }: GithubGate, swept: Sweep): Promise<void> =>
  store.transact(async (tx) => {
    const sweeps = (await tx.get("meta", "github_sweeps"))?.value ?? {};
    tx.put("meta", "github_sweeps", { ...sweeps, [name]: swept });
  });

const pageSchema = once(() =>
  z.array(
    z.object({
      id: z.string().regex(/^\d{1,20}$/),
      guid: z.string(),
      delivered_at: z.iso.datetime({ offset: true }).transform(Date.parse),
      status_code: z.number(),
      event: z.string(),
      action: z.string().nullish(),
    }),
  ),
);
type Delivery = z.output<ReturnType<typeof pageSchema>>[number];

/** Requests failed deliveries again, and returns the time from which the next sweep checks. */
async function sweep(
  app: GithubApp,
  { since, now, stopped }: { since: number; now: number; stopped: AbortSignal | undefined },
): Promise<number> {
  const from = Math.max(since, now - MAX_AGE_MS);
  const deliveries = await listDeliveries(app, from, stopped);
  // Newer deliveries may still be under way, so the next sweep checks them again.
  let oldestFailed = now - 2 * MAX_DELIVERY_MS;
  for (const attempts of groupByGuid(deliveries)) {
    if (attempts.some(({ status_code }) => status_code >= 200 && status_code < 300)) continue;
    if (attempts.length >= MAX_ATTEMPTS) continue;
    oldestFailed = Math.min(oldestFailed, ...attempts.map(({ delivered_at }) => delivered_at));
    const newest = attempts.reduce((last, other) => (other.delivered_at > last.delivered_at ? other : last));
    // The newest attempt may still be under way.
    if (now - newest.delivered_at < MAX_DELIVERY_MS) continue;
    await app.send({
      method: "POST",
      path: `/app/hook/deliveries/${newest.id}/attempts`,
      as: "app",
      canceled: stopped,
    });
  }
  return oldestFailed;
}

/** Lists the deliveries of requests for a decision since a time, newest first. */
async function listDeliveries(app: GithubApp, since: number, stopped: AbortSignal | undefined): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  for (let page = 0, cursor = ""; page < MAX_PAGES; page++) {
    const query = `per_page=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { text, headers } = await app.send({
      method: "GET",
      path: `/app/hook/deliveries?${query}`,
      as: "app",
      canceled: stopped,
    });
    // Ids are parsed as text, since they may exceed the safe integers.
    const { data } = pageSchema().safeParse(parseJson(text.replace(/"id":\s*(\d+)/g, '"id":"$1"')));
    if (!data) throw new GithubFailed("GitHub answered something other than a list of deliveries");
    deliveries.push(
      ...data.filter(({ event, action }) => event === "deployment_protection_rule" && action === "requested"),
    );
    cursor = findNextCursor(headers);
    if (cursor === "" || data.every(({ delivered_at }) => delivered_at < since)) break;
  }
  return deliveries.filter(({ delivered_at }) => delivered_at >= since);
}

/** Returns the cursor in the address of the next page; `""` on the last. */
const findNextCursor = (headers: Headers): string => {
  const [, address = ""] = /<([^>]*)>;\s*rel="next"/.exec(headers.get("link") ?? "") ?? [];
  return (URL.canParse(address) && new URL(address).searchParams.get("cursor")) || "";
};

function groupByGuid(deliveries: readonly Delivery[]): Delivery[][] {
  const groups = new Map<string, Delivery[]>();
  for (const delivery of deliveries) groups.set(delivery.guid, [...(groups.get(delivery.guid) ?? []), delivery]);
  return [...groups.values()];
}
