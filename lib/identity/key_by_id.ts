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
 * Fetches in a minute that may be under way together, each of another key; the next ones go one at a time. Any sender can name
 * ids that do not exist: they slow down the fetch of a new key, and a limit without an exception would prevent it.
 */
const CONCURRENT_FETCHES_A_MINUTE = 10;

/** Returns the key at `<prefix><kid>`, where `kid` is a UUID. A key is fetched once a minute at most, and kept for a day. */
export function keyFinderById(
  prefix: string,
  algorithm: string,
  { clock, fetch: send }: { clock: Pick<Clock, "now">; fetch: Fetch },
): FindKey {
  type State = "under way" | "kept" | "failed";
  const known = new Map<string, { key: Promise<CryptoKey>; at: number; state: State }>();

  return ({ kid }) => {
    if (typeof kid !== "string" || !UUID.test(kid)) throw new TokenRejected("its kid is not a UUID");
    const now = clock.now();
    for (const [id, { at, state }] of known)
      if (Math.abs(now - at) >= (state === "failed" ? MINUTE_MS : MAX_AGE_MS)) known.delete(id);
    const cached = known.get(kid);
    if (cached) return cached.key;
    const recent = [...known.values()].filter(({ at }) => Math.abs(now - at) < MINUTE_MS);
    if (recent.length >= CONCURRENT_FETCHES_A_MINUTE && recent.some(({ state }) => state === "under way"))
      throw missingKeysError(
        `${prefix}, which was asked for ${recent.length} in a minute and has not answered the last one`,
      );
    const key = fetchKeys(`${prefix}${kid}`, send).then((pem) => importSPKI(pem, algorithm));
    const entry = { key, at: now, state: "under way" as State };
    known.set(kid, entry);
    key.then(
      () => (entry.state = "kept"),
      () => (entry.state = "failed"),
    );
    return key;
  };
}
