/** The keys of an issuer that publishes each as a PEM at an address of its own, as AWS load balancers do; cached. */
import { importSPKI } from "jose/key/import";
import type { Clock } from "../kit/platform.ts";
import { type Fetch, fetchKeys, noKeys } from "./fetch_keys.ts";
import type { FindKey } from "./key_set.ts";
import { TokenRefused } from "./token_refused.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_AGE_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
/** Fetches in a minute, each of another key: any sender can name ids that do not exist. */
const MAX_FETCHES_PER_MINUTE = 10;

/** Returns the key at `<prefix><kid>`, where `kid` is a UUID. A key is fetched once a minute at most, and kept for a day. */
export function keyById(
  prefix: string,
  algorithm: string,
  { clock, fetch: send }: { clock: Pick<Clock, "now">; fetch: Fetch },
): FindKey {
  const known = new Map<string, { key: Promise<CryptoKey>; at: number; failed: boolean }>();

  return ({ kid }) => {
    if (typeof kid !== "string" || !UUID.test(kid)) throw new TokenRefused("its kid is not a UUID");
    const now = clock.now();
    for (const [id, { at, failed }] of known)
      if (Math.abs(now - at) >= (failed ? MINUTE_MS : MAX_AGE_MS)) known.delete(id);
    const cached = known.get(kid);
    if (cached) return cached.key;
    const recent = [...known.values()].filter(({ at }) => Math.abs(now - at) < MINUTE_MS).length;
    if (recent >= MAX_FETCHES_PER_MINUTE) throw noKeys(`${prefix}, which was asked for ${recent} in a minute`);
    const key = fetchKeys(`${prefix}${kid}`, send).then((pem) => importSPKI(pem, algorithm));
    const entry = { key, at: now, failed: false };
    known.set(kid, entry);
    key.catch(() => (entry.failed = true));
    return key;
  };
}
