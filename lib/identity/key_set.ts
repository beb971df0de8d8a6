/** The keys of an issuer that publishes them as one JWKS, cached. */
import { JWKSNoMatchingKey } from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import type { Clock } from "../kit/platform.ts";
import { type Fetch, fetchKeys, missingKeysError } from "./fetch_keys.ts";
import { TokenRejected } from "./token_rejected.ts";

/** Keys older than this are fetched again before they are used. */
const FRESH_MS = 10 * 60_000;
/** Keys that could not be fetched for so long are not used any more: the issuer may have revoked them. */
const MAX_AGE_MS = 24 * 60 * 60_000;
/** The least time from one fetch to the next. */
const COOLDOWN_MS = 60_000;

/** The key that a token names. Errors: `TokenRejected`. */
export type FindKey = JWTVerifyGetKey;

/**
 * Returns the key that a token names by `kid`. An unknown one fetches the set again, at most once a minute and once for all who
 * wait. Keys of ten minutes ago and more are used only where that failed, and for 24 hours at most.
 */
export function keySetFinder(
  url: string,
  { clock, fetch: send }: { clock: Pick<Clock, "now">; fetch: Fetch },
): FindKey {
  let known: { find: ReturnType<typeof createLocalJWKSet>; at: number } | undefined;
  let triedAt = -Infinity;
  let pendingLoad: Promise<void> | undefined;
  let problem: TokenRejected | undefined;

  /** A clock that was set back makes everything old. */
  const isOlder = (at: number, ms: number): boolean => Math.abs(clock.now() - at) >= ms;

  async function load(): Promise<void> {
    triedAt = clock.now();
    try {
      known = { find: parseKeySet(await fetchKeys(url, send), url), at: clock.now() };
      problem = undefined;
    } catch (error) {
      problem = error as TokenRejected;
    }
  }
  /** Fetches the set, unless that was tried within a minute; resolves also where it fails. */
  async function refresh(): Promise<void> {
    if (!pendingLoad && !isOlder(triedAt, COOLDOWN_MS)) return;
    await (pendingLoad ??= load().finally(() => (pendingLoad = undefined)));
  }

  return async (header, token) => {
    if (typeof header.kid !== "string" || header.kid === "") throw new TokenRejected("it names no key in kid");
    if (known && isOlder(known.at, MAX_AGE_MS)) known = undefined;
    if (known && isOlder(known.at, FRESH_MS)) await refresh();
    const key = await known?.find(header, token).catch(ignoreUnknownKey);
    if (key) return key;
    await refresh();
    if (!known) throw problem ?? missingKeysError(url);
    const fetched = await known.find(header, token).catch(ignoreUnknownKey);
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
