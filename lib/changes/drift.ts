/** Drift: episodes in which a target no longer holds the value of its newest applied change. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { ChangesDeps } from "./deps.ts";
import { listVisibleIds } from "./read_scope.ts";
import type { Reads } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    drift: DriftEpisode;
  }
  interface Meta {
    drift: DriftCheck;
  }
}

export const episodeSchema = once(() =>
  z
    .object({
      change_id: z.string().describe("The drifted change."),
      target: z.string().meta({ description: "Its target.", examples: ["limits.seats"] }),
      tenant_id: z.string().meta({ description: "Its tenant.", examples: ["t-100"] }),
      state: z.enum(["drifted", "missing"]).describe("drifted: the host holds something else; missing: nothing."),
      host: z
        .enum(["applied", "rolled_back", "absent", "unknown"])
        .describe("State of the change at the host product."),
      held_digest: z
        .string()
        .nullable()
        .optional()
        .describe("SHA-256 (hex) of the canonical JSON that it holds; null: nothing; absent: not known."),
      since: z.string().meta({ description: "When it was noticed.", format: "date-time" }),
      contested_until: z.string().optional().describe("No restore before then: three were undone within an hour."),
    })
    .describe("A change whose value the host product no longer has."),
);

export const driftSchema = once(() =>
  z.object({
    result: z
      .enum(["in_sync", "drifted", "missing"])
      .nullable()
      .describe("The worst finding; null without adapter or check, and if a place could not be read."),
    in_sync: z.boolean().nullable().describe("Whether nothing differs; null while not known."),
    checked_at: z
      .string()
      .nullable()
      .meta({ description: "When the last check was; null before the first.", examples: ["2026-11-22T18:00:00.000Z"] }),
    oldest_verified_at: z.string().nullable().describe("Each place was verified since then; null: not yet."),
    drifted: z.array(episodeSchema()).describe("Changes with another value at the host product."),
    missing: z.array(episodeSchema()).describe("Changes that the host product does not have."),
  }),
);

/**
 * `drift/<change_id>`, of a plan `drift/<change_id>.<number of the entry>`: an episode of drift, from when it was noticed until
 * the host shows the change again.
 */
export type DriftEpisode = z.infer<ReturnType<typeof episodeSchema>>;

/** `meta/drift`: the current or last round over all managed values. */
export interface DriftCheck {
  /** When targets were last verified, and their number. */
  checked_at: string;
  checked: number;
  /** When the round began. */
  round_at: string;
  /** Id of the entry of an apply: owners of targets that were applied before it are still to be verified; `null`: none is. */
  next: number | null;
  /** True if a target of the round could not be read. */
  missed: boolean;
  /** Each target was verified since then; `null` before the first complete round, and without targets. */
  oldest_verified_at: string | null;
}

/** Maximum number of listed episodes; no plan has more targets. */
const MAX_EPISODES = 50;

/** Lists the current episodes of a change; of a plan, one for each target that does not hold its value. */
export async function listEpisodes(reads: Pick<Reads, "list">, changeId: string): Promise<DriftEpisode[]> {
  const page = await reads.list("drift", { prefix: changeId, limit: MAX_EPISODES });
  return page.map(({ value }) => value);
}

/** Reads the current episodes, a thousand at most, and the time of the last check. */
export async function readDriftReport(deps: ChangesDeps): Promise<z.infer<ReturnType<typeof driftSchema>>> {
  const { store } = deps;
  const check = (await store.get("meta", "drift"))?.value;
  const allEpisodes = (await store.list("drift", { limit: 1000 })).map(({ value }) => value);
  const ids = allEpisodes.map(({ change_id }) => change_id);
  const visibleIds = new Set(await listVisibleIds(deps, ids));
  const episodes = allEpisodes.filter(({ change_id }) => visibleIds.has(change_id));
  const drifted = episodes.filter(({ state }) => state === "drifted");
  const missing = episodes.filter(({ state }) => state === "missing");
  const worstState = missing.length > 0 ? "missing" : drifted[0]?.state;
  const result = worstState ?? (check && !check.missed ? "in_sync" : null);
  return {
    result,
    in_sync: result === null ? null : result === "in_sync",
    checked_at: check?.checked_at ?? null,
    oldest_verified_at: check?.oldest_verified_at ?? null,
    drifted,
    missing,
  };
}
