/** The keys of an issuer that publishes them as one JWKS, cached. */
import { JWKSNoMatchingKey } from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import type { Clock } from "../kit/platform.ts";
import { type Fetch, fetchKeys, missingKeysError } from "./fetch_keys.ts";
import { TokenRejected } from "./token_rejected.ts";

/** Keys older than this are fetched again before they are used. */
const FRESH_MS = 10 * 60_000;
/** Keys older than this are no longer used: the issuer may have revoked them. */
const MAX_AGE_MS = 24 * 60 * 60_000;
/** Least time from one fetch to the next. */
const COOLDOWN_MS = 60_000;

/** Finds the key that a token names. Errors: `TokenRejected`. */
export type FindKey = JWTVerifyGetKey;

/**
 * Returns a function that finds a key by `kid`. An unknown `kid` fetches the set again, at most once a minute, and concurrent
 * calls share one fetch. If keys cannot be fetched again after ten minutes, they are used for up to 24 hours.
 */
export function keySetFinder(
  url: string,
  { clock, fetch: send }: { clock: Pick<Clock, "now">; fetch: Fetch },
): FindKey {
  let keySet: { find: ReturnType<typeof createLocalJWKSet>; fetchedAt: number } | undefined;
  let triedAt = -Infinity;
  let pendingLoad: Promise<void> | undefined;
  let lastError: TokenRejected | undefined;

  /** Compares absolute differences, so that keys do not live longer after the clock is set back. */
  const isOlder = (at: number, ms: number): boolean => Math.abs(clock.now() - at) >= ms;

  async function load(): Promise<void> {
    triedAt = clock.now();
    try {
      keySet = { find: parseKeySet(await fetchKeys(url, send), url), fetchedAt: clock.now() };
      lastError = undefined;
    } catch (error) {
      // Both calls throw nothing else.
      lastError = error as TokenRejected;
    }
  }
  /** Fetches the set, unless that was tried within the last minute; never rejects. */
  async function refresh(): Promise<void> {
    if (!pendingLoad && !isOlder(triedAt, COOLDOWN_MS)) return;
    await (pendingLoad ??= load().finally(() => (pendingLoad = undefined)));
  }

  return async (header, token) => {
    if (typeof header.kid !== "string" || header.kid === "") throw new TokenRejected("it names no key in kid");
    if (keySet && isOlder(keySet.fetchedAt, MAX_AGE_MS)) keySet = undefined;
    if (keySet && isOlder(keySet.fetchedAt, FRESH_MS)) await refresh();
    const key = await keySet?.find(header, token).catch(ignoreUnknownKey);
    if (key) return key;
    await refresh();
    if (!keySet) throw lastError ?? missingKeysError(url);
    const fetched = await keySet.find(header, token).catch(ignoreUnknownKey);
    if (fetched) return fetched;
    throw new TokenRejected("its issuer has no key of its kid and alg");
  };
}

function ignoreUnknownKey(error: unknown): undefined {
  if (!(error instanceof JWKSNoMatchingKey)) throw error;
}

function parseKeySet(text: string, url: string): ReturnType<typeof createLocalJWKSet> {
  try {
    const set = JSON.parse(text) as JSONWebKeySet;
    if (set.keys.length > 0) return createLocalJWKSet(set);
  } catch {
    // reported below
  }
  throw missingKeysError(`${url}, which answers no JSON Web Key Set`);
}
