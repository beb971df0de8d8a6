/** An issuer of tokens with its own keys, and a `fetch` that returns its key set. */
import { exportJWK, exportSPKI, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import type { Fetch } from "../../lib/identity/fetch_keys.ts";
import { once } from "../../lib/kit/once.ts";
import { START } from "./clock.ts";

/** Start of the test clock in seconds, as tokens state times. */
export const NOW_S = Math.floor(Date.parse(START) / 1000);

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const pairs = new Map<string, () => Promise<Pair>>();

/** Returns the key pair of a name, which is made once for each test file. */
export function makePair(name: string, alg: string): Promise<Pair> {
  const id = `${name} ${alg}`;
  if (!pairs.has(id))
    pairs.set(
      id,
      once(() => generateKeyPair(alg, { extractable: true })),
    );
  return pairs.get(id)!();
}

/** Returns a public key as a member of a JWKS. */
export const publicJwk = async (kid: string, alg: string): Promise<object> => ({
  ...(await exportJWK((await makePair(kid, alg)).publicKey)),
  kid,
  alg,
  use: "sig",
});

export const publicPem = async (kid: string, alg: string): Promise<string> =>
  exportSPKI((await makePair(kid, alg)).publicKey);

/** Signs claims with the key of `header.kid`, or of `signedBy`. */
export async function signedToken(
  claims: JWTPayload,
  header: JWTHeaderParameters & { kid: string },
  signedBy = header.kid,
): Promise<string> {
  const { privateKey } = await makePair(signedBy, header.alg);
  return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
}

/** Returns a `fetch` that records the URLs of its calls and responds with the result of `answer`. */
export function keyServer(answer: (url: string) => Response | Promise<Response>): { fetch: Fetch; urls: string[] } {
  const urls: string[] = [];
  return {
    urls,
    fetch: async (url, { signal }) => {
      urls.push(url);
      signal?.throwIfAborted();
      return answer(url);
    },
  };
}
