/** Drift: does the host still show what the newest applied change of each target set? */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { readHead } from "../audit/chain.ts";
import type { ChangesDeps } from "./deps.ts";
import type { HostState } from "./operations/adapter_port.ts";
import { canonicalJson } from "../kit/canonical_json.ts";
import type { Change } from "./rules/change.ts";
import { readLease } from "./operations/lease.ts";
import { askHeld, askInForce } from "./operations/run_adapter.ts";
import { serviceItself } from "./rules/actor.ts";
import { governed } from "./transaction.ts";
import { unlessMismatched } from "./mismatch.ts";
import { describeMove, findCarrier, findMove } from "./places.ts";
import { placeOf, readRecords } from "./records.ts";
import type { Store } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    drift: DriftEpisode;
  }
  interface Meta {
    drift: DriftCheck;
  }
}

const PER_CYCLE = 100;
/** A host that answers slowly, or not at all, must not keep the rest of the cycle from its turn; milliseconds. */
const LONGEST_MS = 30_000;

export const episodeSchema = once(() =>
  z
    .object({
      change_id: z.string().describe("The change that the host no longer shows."),
      target: z.string().meta({ description: "Its target.", examples: ["limits.seats"] }),
      tenant_id: z.string().meta({ description: "Its tenant.", examples: ["t-100"] }),
      state: z.enum(["drifted", "missing"]).describe("drifted: the host holds something else; missing: nothing."),
      host: z.enum(["applied", "rolled_back", "absent", "unknown"]).describe("What the host shows of the change."),
      held_digest: z
        .string()
        .nullable()
        .optional()
        .describe("SHA-256 (hex) of the canonical JSON that it holds; null: nothing; absent: not known."),
      since: z.string().meta({ description: "When it was noticed.", format: "date-time" }),
    })
    .describe("A change that the host product no longer shows."),
);

export const driftSchema = once(() =>
  z.object({
    result: z
      .enum(["in_sync", "drifted", "missing"])
      .nullable()
      .describe("The worst of what was found; null without an adapter or before the first check."),
    in_sync: z.boolean().nullable().describe("Whether nothing differs; null while not known."),
    checked_at: z
      .string()
      .nullable()
      .meta({ description: "When the last check was; null before the first.", examples: ["2026-11-22T18:00:00.000Z"] }),
    drifted: z.array(episodeSchema()).describe("Changes in whose place the host holds something else."),
    missing: z.array(episodeSchema()).describe("Changes of which the host shows nothing."),
  }),
);

/** `drift/<change_id>`: an episode of drift, from when it was noticed until the host shows the change again. */
export type DriftEpisode = z.infer<ReturnType<typeof episodeSchema>>;

/** `meta/drift`: how far the round over all owners is, and when it was last at work. */
export interface DriftCheck {
  checked_at: string;
  checked: number;
  /** The owner that comes next; `null` when the round is complete. */
  cursor: string | null;
}

/** Checks the next hundred owners, or as many as half a minute takes; an episode is audited once. */
export async function checkDrift(deps: ChangesDeps): Promise<DriftCheck | undefined> {
  const { store, clock } = deps;
  if (!deps.product?.adapter || !(await readHead(store))) return undefined;
  const last = (await store.get("meta", "drift"))?.value;
  const end = clock.now() + LONGEST_MS;
  const from = last?.cursor ?? "";
  const { owners, rest } = await ownersAfter(deps, from);
  const seen = await seenOf(deps, owners);
  let cursor: string | null = from;
  let checked = 0;
  for (; checked < owners.length && clock.now() < end; checked++) {
    const { changeId, place } = owners[checked]!;
    const known = seen.get(changeId);
    if (known) await deps.mutex(changeId, () => judge(deps, known));
    cursor = place;
  }
  const whole = checked === owners.length;
  if (whole) cursor = rest;
  const check: DriftCheck = { checked_at: new Date(clock.now()).toISOString(), checked, cursor };
  await store.transact((tx) => tx.put("meta", "drift", check));
  remember(deps, whole && from === "" && rest === null ? [...seen.values()] : undefined);
  return check;
}

/** The newest applied change of a target, and where the targets behind it begin. */
interface Owner {
  changeId: string;
  place: string;
}

/** The owners after a place; `rest`: where those behind them begin, null: there are none. Ids of a target share the part up to the last line break. */
async function ownersAfter({ store }: ChangesDeps, after: string): Promise<{ owners: Owner[]; rest: string | null }> {
  const page = await store.list("owners", { after, limit: PER_CYCLE + 1 });
  const placeOf = ({ id }: { id: string }): string => `${id.slice(0, id.lastIndexOf("\n") + 1)}\uffff`;
  const newest = page.filter((row, index) => index + 1 === page.length || placeOf(row) !== placeOf(page[index + 1]!));
  const owners = newest.map((row): Owner => ({ changeId: row.value, place: placeOf(row) }));
  if (page.length <= PER_CYCLE) return { owners, rest: null };
  // What the page ends in may have newer ones behind it: it begins the next, or, where it is all of this one, is looked up.
  const [last] = owners.splice(-1);
  if (owners.length > 0) return { owners, rest: owners.at(-1)!.place };
  const [owner] = await store.list("owners", { after: last!.place, limit: 1, reverse: true });
  return { owners: [{ changeId: owner!.value, place: last!.place }], rest: last!.place };
}

/** An applied change as it was read, and the episode that is known of it. */
interface Seen {
  change: Change;
  episode: DriftEpisode | undefined;
}

/** Those of the owners on which nobody is at work, read together. */
async function seenOf({ store }: ChangesDeps, owners: readonly Owner[]): Promise<Map<string, Seen>> {
  const ids = owners.map(({ changeId }) => changeId);
  const records = (await readRecords(store, ids)).flatMap((record) => record ?? []);
  const changes = records.map(({ change }) => change).filter(({ status }) => status === "applied");
  const [leases, episodes] = await Promise.all([
    store.getMany("leases", changes.map(placeOf)),
    store.getMany(
      "drift",
      changes.map(({ change_id }) => change_id),
    ),
  ]);
  const free = changes.flatMap((change, index) =>
    leases[index] ? [] : [[change.change_id, { change, episode: episodes[index]?.value }] as const],
  );
  return new Map(free);
}

/** What a whole round found, where it is little: while nobody writes, the host can be asked again without the store. */
const remembered = new WeakMap<Store, readonly Seen[]>();
const MOST_REMEMBERED = 200_000;

function remember({ store }: ChangesDeps, seen: readonly Seen[] | undefined): void {
  if (seen && JSON.stringify(seen).length <= MOST_REMEMBERED) remembered.set(store, seen);
  else remembered.delete(store);
}

/** Whether the host still shows what the last round found; false also where too much was found to be remembered. */
export async function isAsItWas(deps: ChangesDeps): Promise<boolean> {
  if (!deps.product?.adapter) return true;
  const known = remembered.get(deps.store);
  const end = deps.clock.now() + LONGEST_MS;
  for (const { change, episode } of known ?? []) {
    if (deps.clock.now() >= end) return false;
    const shown = await lookAt(deps, change);
    if (shown && !isSame(shown, episode)) return false;
  }
  return known !== undefined;
}

/** What the host shows in a change's place: nothing amiss without `state`. */
interface Shown extends Pick<DriftEpisode, "held_digest"> {
  state?: DriftEpisode["state"] | undefined;
  host: HostState;
}

async function lookAt(deps: ChangesDeps, change: Change): Promise<Shown | undefined> {
  const { product, log } = deps;
  if (!findCarrier(product!.adapter, change)) return undefined;
  const moved = findMove(product!.adapter, change);
  if (moved) {
    log.warn("a change cannot be compared with its target", {
      change_id: change.change_id,
      error: describeMove(moved),
    });
    return undefined;
  }
  const host = await askInForce(product!.adapter!, change);
  if (host === undefined) {
    log.warn("the host could not be asked for drift", { change_id: change.change_id });
    return undefined;
  }
  if (host === "applied") return { state: undefined, host };
  return { state: host === "absent" ? "missing" : "drifted", host, ...(await heldDigest(deps, change)) };
}

const isSame = ({ state, held_digest }: Shown, episode: DriftEpisode | undefined): boolean =>
  state === episode?.state && held_digest === episode?.held_digest;

/**
 * Holds what the host shows against the change. Between the two another process may have begun an operation on it, or have
 * noticed the same: what the host showed counts only for the change as it was before it was asked.
 */
async function judge(deps: ChangesDeps, { change, episode }: Seen): Promise<void> {
  const shown = await lookAt(deps, change);
  if (!shown || isSame(shown, episode)) return;
  const { change_id } = change;
  const { state, host, ...held } = shown;
  await governed<void>({ deps }, async (transaction) => {
    const { tx, at } = transaction;
    const current = await unlessMismatched(transaction.change(change_id));
    if (!current) return;
    const { revision, target, tenant_id } = current.change;
    if (revision !== change.revision || (await readLease(tx, change))) return;
    // A later change may have taken the place, with which the episode ended.
    if ((await transaction.ledger.owner(current.change)) !== change_id) return;
    if (state === undefined) return tx.delete("drift", change_id);
    const known = (await tx.get("drift", change_id))?.value;
    const since = known?.since ?? at;
    tx.put("drift", change_id, { change_id, target, tenant_id, state, host, ...held, since });
    if (!known) transaction.enact(current, { type: "drift", circumstance: { state, host } }, serviceItself());
  });
}

/** What the target holds instead, by its digest: the value itself is for those who may ask the host. */
async function heldDigest(
  { product, sha256 }: ChangesDeps,
  change: Change,
): Promise<Pick<DriftEpisode, "held_digest">> {
  const held = await askHeld(product!.adapter!, change);
  if (held === undefined) return {};
  try {
    return { held_digest: held && sha256(canonicalJson(held.value)) };
  } catch {
    // It says what is no JSON.
    return {};
  }
}

/** The episodes under way, and when the last check was. */
export async function driftReport({ store }: ChangesDeps): Promise<z.infer<ReturnType<typeof driftSchema>>> {
  const check = (await store.get("meta", "drift"))?.value;
  const episodes = (await store.list("drift", { limit: 1000 })).map(({ value }) => value);
  const drifted = episodes.filter(({ state }) => state === "drifted");
  const missing = episodes.filter(({ state }) => state === "missing");
  const result = missing.length > 0 ? "missing" : drifted.length > 0 ? "drifted" : check ? "in_sync" : null;
  return {
    result,
    in_sync: result === null ? null : result === "in_sync",
    checked_at: check?.checked_at ?? null,
    drifted,
    missing,
  };
}
