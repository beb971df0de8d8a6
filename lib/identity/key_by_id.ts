/** The keys of an issuer that publishes each as a PEM at an address of its own, as AWS load balancers do; cached. */
import { importSPKI } from "jose/key/import";
import type { Clock } from "../kit/platform.ts";
import { type Fetch, fetchKeys, missingKeysError } from "./fetch_keys.ts";
import type { FindKey } from "./key_set.ts";
import { TokenRejected } from "./token_rejected.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_AGE_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
/**
 * After this many fetches in a minute, the next ones run one at a time. Anybody can send ids that do not exist: they may delay
 * the fetch of a new key, but must not prevent it.
 */
const MAX_CONCURRENT_FETCHES_PER_MINUTE = 10;

/** Returns the key at `<prefix><kid>`, where `kid` is a UUID. A key is fetched once a minute at most, and cached for a day. */
export function keyFinderById(
  prefix: string,
  algorithm: string,
  { clock, fetch: send }: { clock: Pick<Clock, "now">; fetch: Fetch },
): FindKey {
  type State = "under way" | "cached" | "failed";
  const entries = new Map<string, { key: Promise<CryptoKey>; fetchedAt: number; state: State }>();

  return ({ kid }) => {
    if (typeof kid !== "string" || !UUID.test(kid)) throw new TokenRejected("its kid is not a UUID");
    const now = clock.now();
    for (const [id, { fetchedAt, state }] of entries)
      if (Math.abs(now - fetchedAt) >= (state === "failed" ? MINUTE_MS : MAX_AGE_MS)) entries.delete(id);
    const cached = entries.get(kid);
    if (cached) return cached.key;
    const recent = [...entries.values()].filter(({ fetchedAt }) => Math.abs(now - fetchedAt) < MINUTE_MS);
    if (recent.length >= MAX_CONCURRENT_FETCHES_PER_MINUTE && recent.some(({ state }) => state === "under way"))
      throw missingKeysError(
        `${prefix}, which was asked for ${recent.length} keys in a minute and has not answered all of them`,
      );
    const key = fetchKeys(`${prefix}${kid}`, send).then((pem) => importSPKI(pem, algorithm));
    const entry = { key, fetchedAt: now, state: "under way" as State };
    entries.set(kid, entry);
    key.then(
      () => (entry.state = "cached"),
      () => (entry.state = "failed"),
    );
    return key;
  };
}
