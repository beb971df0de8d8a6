/** Drift: does the host still show what the newest applied change of each target set? */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { readHead } from "../audit/chain.ts";
import type { GovernanceDeps } from "./deps.ts";
import type { HostState } from "./adapters/port.ts";
import { canonicalJson } from "../kit/canonical_json.ts";
import { step } from "../kit/time_limit.ts";
import type { Change } from "./rules/change.ts";
import { readLease } from "./operation/lease.ts";
import { askHeld } from "./operation/run_adapter.ts";
import { serviceItself } from "./rules/actor.ts";
import { governed } from "./transaction.ts";
import { unlessMismatched } from "./mismatch.ts";
import { ownerOf, readRecord } from "./records.ts";

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
export async function checkDrift(deps: GovernanceDeps): Promise<DriftCheck | undefined> {
  if (!deps.product?.adapter || !(await readHead(deps.store))) return undefined;
  const last = (await deps.store.get("meta", "drift"))?.value;
  const end = deps.clock.now() + LONGEST_MS;
  let cursor: string | null = last?.cursor ?? "";
  let checked = 0;
  for (; cursor !== null && checked < PER_CYCLE && deps.clock.now() < end; checked++) {
    const owner = await nextOwner(deps, cursor);
    cursor = owner?.cursor ?? null;
    if (!owner) break;
    await deps.mutex(owner.changeId, () => judge(deps, owner.changeId));
  }
  const check: DriftCheck = { checked_at: new Date(deps.clock.now()).toISOString(), checked, cursor };
  await deps.store.transact((tx) => tx.put("meta", "drift", check));
  return check;
}

/** The newest applied change of the next target after `cursor`; ids of a target share the part up to the last line break. */
async function nextOwner(
  { store }: GovernanceDeps,
  cursor: string,
): Promise<{ changeId: string; cursor: string } | undefined> {
  const [first] = await store.list("owners", { after: cursor, limit: 1 });
  if (!first) return undefined;
  const end = `${first.id.slice(0, first.id.lastIndexOf("\n") + 1)}\uffff`;
  const [newest] = await store.list("owners", { after: end, limit: 1, reverse: true });
  return { changeId: newest!.value, cursor: end };
}

/**
 * Holds what the host shows against the change. Between the two another process may have begun an operation on it, or have
 * noticed the same: what the host showed counts only for the change as it was before it was asked.
 */
async function judge(deps: GovernanceDeps, changeId: string): Promise<void> {
  const record = await readRecord(deps.store, changeId);
  if (record?.change.status !== "applied" || (await readLease(deps.store, record.change))) return;
  const host = await askHost(deps, record.change);
  if (host === undefined) return;
  const state = host === "applied" ? undefined : host === "absent" ? "missing" : "drifted";
  const held = state && (await heldDigest(deps, record.change));
  const seen = (await deps.store.get("drift", changeId))?.value;
  if (state === seen?.state && held?.held_digest === seen?.held_digest) return;
  await governed<void>({ deps }, async (transaction) => {
    const { tx, at } = transaction;
    const current = await unlessMismatched(transaction.change(changeId));
    if (!current) return;
    const { revision, target, tenant_id } = current.change;
    if (revision !== record.change.revision || (await readLease(tx, record.change))) return;
    // A later change may have taken the place, with which the episode ended.
    if ((await ownerOf(tx, current.change)) !== changeId) return;
    if (state === undefined) return tx.delete("drift", changeId);
    const known = (await tx.get("drift", changeId))?.value;
    const since = known?.since ?? at;
    tx.put("drift", changeId, { change_id: changeId, target, tenant_id, state, host, ...held, since });
    if (!known) transaction.enact(current, { type: "drift", circumstance: { state, host } }, serviceItself());
  });
}

/** What the host shows; undefined when it cannot be asked, which is no evidence of drift. */
const askHost = ({ product, log }: GovernanceDeps, change: Change): Promise<HostState | undefined> =>
  step((signal) => product!.adapter!.verify(change, signal)).catch((error: unknown) => {
    log.warn("the host could not be asked for drift", { change_id: change.change_id, error: String(error) });
    return undefined;
  });

/** What the target holds instead, by its digest: the value itself is for those who may ask the host. */
async function heldDigest(
  { product, sha256 }: GovernanceDeps,
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
export async function driftReport({ store }: GovernanceDeps): Promise<z.infer<ReturnType<typeof driftSchema>>> {
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
