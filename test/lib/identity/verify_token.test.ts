/** Tokens that must be rejected, and the key sets of issuers. */
import { createHmac } from "node:crypto";
import { CompactSign, EncryptJWT, UnsecuredJWT } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { keySetFinder } from "../../../lib/identity/key_set.ts";
import { TokenRejected } from "../../../lib/identity/token_rejected.ts";
import { readClaimedIssuer, type TokenRules, verifyToken } from "../../../lib/identity/verify_token.ts";
import { HOUR, MINUTE, SECOND, type TestClock, testClock } from "../../support/clock.ts";
import { publicJwk, keyServer, NOW_S, makePair, publicPem, signedToken } from "../../support/token_issuer.ts";

const ISSUER = "https://id.acme.example";
const JWKS = `${ISSUER}/jwks`;
const VALID_CLAIMS = { iss: ISSUER, aud: "gate", sub: "ana", email: "ana@acme.example", exp: NOW_S + 600, iat: NOW_S };
const HEADER = { alg: "ES256", kid: "k1" } as const;

const json = (value: unknown): Response => new Response(JSON.stringify(value));
const encodePart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const createKeys = async (): Promise<object[]> => [
  await publicJwk("k1", "ES256"),
  await publicJwk("r1", "RS256"),
  await publicJwk("p1", "PS256"),
  await publicJwk("e3", "ES384"),
];

/** Creates rules for tokens of an issuer; `answer` returns its key set. */
async function createRules(answer?: () => Response | Promise<Response>) {
  const clock: TestClock = testClock();
  const publishedKeys = await createKeys();
  const server = keyServer(answer ?? (() => json({ keys: publishedKeys })));
  const findKey = keySetFinder(JWKS, { clock, fetch: server.fetch });
  return {
    clock,
    urls: server.urls,
    rules: { issuer: ISSUER, audience: "gate", algorithms: ["ES256", "RS256"], findKey, clock } as TokenRules,
  };
}

const hs256 = (header: object, claims: object, secret: string): string => {
  const signed = `${encodePart(header)}.${encodePart(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

/** Replaces a part of a token: 0 is the header, 1 the claims, 2 the signature. */
const replacePart = (token: string, index: number, text: string): string =>
  token.split(".").with(index, text).join(".");

const validToken = (claims: object = {}, header: object = {}): Promise<string> =>
  signedToken({ ...VALID_CLAIMS, ...claims }, { ...HEADER, ...header });
const withoutClaim = (claim: keyof typeof VALID_CLAIMS): Promise<string> => {
  const { [claim]: _, ...claims } = VALID_CLAIMS;
  return signedToken(claims, HEADER);
};
const signText = async (payload: string, header: object = {}): Promise<string> =>
  new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ ...HEADER, ...header })
    .sign((await makePair("k1", "ES256")).privateKey);

const ATTACKS: [string, () => Promise<string> | string][] = [
  ["alg none", () => new UnsecuredJWT(VALID_CLAIMS).encode()],
  [
    "alg none with a kid and the signature of another token",
    async () => replacePart(await validToken(), 0, encodePart({ alg: "none", kid: "k1" })),
  ],
  ["alg NONE in capitals", () => `${encodePart({ alg: "NONE", kid: "k1" })}.${encodePart(VALID_CLAIMS)}.`],
  ["alg as a list", async () => replacePart(await validToken(), 0, encodePart({ alg: ["ES256"], kid: "k1" }))],
  [
    "HS256 with the PEM of the public key",
    async () => hs256({ alg: "HS256", kid: "r1" }, VALID_CLAIMS, await publicPem("r1", "RS256")),
  ],
  [
    "HS256 with the JWK of the public key",
    async () => hs256({ alg: "HS256", kid: "r1" }, VALID_CLAIMS, JSON.stringify(await publicJwk("r1", "RS256"))),
  ],
  ["HS256 with an empty secret", () => hs256({ alg: "HS256", kid: "k1" }, VALID_CLAIMS, "")],
  [
    "a listed algorithm with the key of another type",
    async () => replacePart(await validToken(), 0, encodePart({ alg: "RS256", kid: "k1" })),
  ],
  ["an algorithm that is not listed", () => signedToken(VALID_CLAIMS, { alg: "PS256", kid: "p1" })],
  ["a curve that is not listed", () => signedToken(VALID_CLAIMS, { alg: "ES384", kid: "e3" })],
  [
    "P-256 in its name, P-384 in its key",
    async () => replacePart(await signedToken(VALID_CLAIMS, { alg: "ES384", kid: "e3" }), 0, encodePart(HEADER)),
  ],
  ["another key under a known kid", () => signedToken(VALID_CLAIMS, HEADER, "mallory")],
  ["no kid", () => signText(JSON.stringify(VALID_CLAIMS), { kid: undefined })],
  [
    "a kid that is a path",
    async () => signedToken(VALID_CLAIMS, { ...HEADER, kid: "../../../../dev/null" }, "mallory"),
  ],
  [
    "a kid that is an address",
    () => signedToken(VALID_CLAIMS, { ...HEADER, kid: "https://mallory.example/jwks" }, "mallory"),
  ],
  ["a kid that is a number", async () => replacePart(await validToken(), 0, encodePart({ alg: "ES256", kid: 1 }))],
  [
    "a jku with a key set of the sender",
    () => signedToken(VALID_CLAIMS, { ...HEADER, jku: "https://mallory.example/jwks" }, "mallory"),
  ],
  [
    "an x5u of the sender",
    () => signedToken(VALID_CLAIMS, { ...HEADER, x5u: "https://mallory.example/x5u" }, "mallory"),
  ],
  [
    "a jwk in the header",
    async () =>
      signedToken(VALID_CLAIMS, { ...HEADER, jwk: (await publicJwk("mallory", "ES256")) as never }, "mallory"),
  ],
  ["an x5c in the header", () => signedToken(VALID_CLAIMS, { ...HEADER, x5c: ["MIIB"] }, "mallory")],
  ["crit", () => signText(JSON.stringify(VALID_CLAIMS), { crit: ["b64"], b64: true })],
  ["a crit that is empty", async () => replacePart(await validToken(), 0, encodePart({ ...HEADER, crit: [] }))],
  [
    "an unencoded payload",
    async () => replacePart(await validToken(), 0, encodePart({ ...HEADER, crit: ["b64"], b64: false })),
  ],
  ["the typ of a log-out token", () => validToken({}, { typ: "logout+jwt" })],
  ["the typ of an access token", () => validToken({}, { typ: "at+jwt" })],
  ["a typ that is a number", () => validToken({}, { typ: 1 })],
  ["another audience", () => validToken({ aud: "wiki" })],
  ["audiences without the expected one", () => validToken({ aud: ["wiki", "gate2", "gat"] })],
  ["an audience list in a list", () => validToken({ aud: [["gate"]] })],
  ["an audience object", () => validToken({ aud: { 0: "gate", includes: "gate" } })],
  ["audiences in one text", () => validToken({ aud: "wiki,gate" })],
  ["no audience", () => withoutClaim("aud")],
  ["another issuer", () => validToken({ iss: "https://id.evil.example" })],
  ["the issuer with a slash", () => validToken({ iss: `${ISSUER}/` })],
  ["a list of issuers", () => validToken({ iss: [ISSUER] as never })],
  ["no issuer", () => withoutClaim("iss")],
  ["expired", () => validToken({ exp: NOW_S - 31 })],
  ["no expiry", () => withoutClaim("exp")],
  ["an expiry that is text", () => validToken({ exp: String(NOW_S + 600) as never })],
  ["an expiry that is null", () => validToken({ exp: null as never })],
  ["not valid yet", () => validToken({ nbf: NOW_S + 32 })],
  ["issued in the future", () => validToken({ iat: NOW_S + 32 })],
  ["issued at a text", () => validToken({ iat: "now" as never })],
  [
    "claims changed after signing",
    async () => replacePart(await validToken(), 1, encodePart({ ...VALID_CLAIMS, email: "bo@acme.example" })),
  ],
  [
    "a header changed after signing",
    async () => replacePart(await validToken(), 0, encodePart({ ...HEADER, extra: 1 })),
  ],
  ["no signature", async () => replacePart(await validToken(), 2, "")],
  ["a signature of zeros", async () => replacePart(await validToken(), 2, Buffer.alloc(64).toString("base64url"))],
  [
    "the signature in DER",
    async () => replacePart(await validToken(), 2, Buffer.from("3006020101020101", "hex").toString("base64url")),
  ],
  ["a token of 16,385 characters", () => validToken({ pad: "x".repeat(16_384) })],
  ["a token in a token", async () => signText(await validToken(), { cty: "JWT" })],
  ["claims that are a list", () => signText(JSON.stringify([VALID_CLAIMS]))],
  ["claims that are no JSON", () => signText("{")],
  [
    "claims that are not UTF-8",
    async () => replacePart(await validToken(), 1, Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")),
  ],
  ["claims nested 5,000 deep", () => signText(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)],
  [
    "encrypted in place of signed",
    async () =>
      new EncryptJWT(VALID_CLAIMS).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(new Uint8Array(32)),
  ],
  ["two tokens, joined as a repeated header is", async () => `${await validToken()}, ${await validToken()}`],
  ["a scheme before it", async () => `Bearer ${await validToken()}`],
  [
    "JSON serialisation",
    async () => {
      const [header, payload, signature] = (await validToken()).split(".");
      return JSON.stringify({ protected: header, payload, signature });
    },
  ],
  ["two dots", () => ".."],
  ["nothing", () => ""],
];

test(`0 of ${ATTACKS.length} forged tokens are accepted, and the valid token is`, async () => {
  const { rules, urls } = await createRules();
  expect(await verifyToken(await validToken(), rules)).toEqual(VALID_CLAIMS);
  expect(await verifyToken(await validToken({ aud: ["wiki", "gate"] }, { typ: "JWT" }), rules)).toMatchObject({
    sub: "ana",
  });
  expect(await verifyToken(await signedToken(VALID_CLAIMS, { alg: "RS256", kid: "r1" }), rules)).toEqual(VALID_CLAIMS);
  const accepted: string[] = [];
  for (const [name, forge] of ATTACKS) {
    const token = await forge();
    await verifyToken(token, rules).then(
      () => accepted.push(name),
      (error: unknown) => expect(error, name).toBeInstanceOf(TokenRejected),
    );
  }
  expect(accepted).toEqual([]);
  // Keys were fetched from the issuer only, and once, since the clock of the test does not advance.
  expect(urls).toEqual([JWKS]);
});

test("a clock that differs by 30 s is tolerated in exp, nbf and iat", async () => {
  const { rules } = await createRules();
  for (const claims of [{ exp: NOW_S - 29 }, { nbf: NOW_S + 30 }, { iat: NOW_S + 30 }])
    await verifyToken(await validToken(claims), rules);
});

test("the claimed issuer is read synchronously, and reading it never throws", async () => {
  expect(readClaimedIssuer(await validToken())).toBe(ISSUER);
  for (const text of [
    "",
    "..",
    "a.b.c",
    `a.${encodePart(null)}.c`,
    `a.${encodePart({ iss: 1 })}.c`,
    "x".repeat(20_000),
  ])
    expect(readClaimedIssuer(text)).toBeUndefined();
});

describe("keys", () => {
  const tokenWithKid = (kid: string): Promise<string> => signedToken(VALID_CLAIMS, { ...HEADER, kid });
  /** Returns true for each accepted token, and the reason for each rejected one. */
  const verifyAll = (tokens: string[], rules: TokenRules) =>
    Promise.all(
      tokens.map((token) =>
        verifyToken(token, rules).then(
          () => true,
          (error: TokenRejected) => error.detail,
        ),
      ),
    );

  test("a thousand tokens at the start cause one fetch", async () => {
    const { rules, urls } = await createRules();
    const token = await validToken();
    const results = await verifyAll(Array<string>(1000).fill(token), rules);
    expect(new Set(results)).toEqual(new Set([true]));
    expect(urls).toHaveLength(1);
  });

  test("an unknown kid causes one shared fetch a minute", async () => {
    let published = [await publicJwk("k1", "ES256")];
    const { rules, urls, clock } = await createRules(() => json({ keys: published }));
    await verifyToken(await validToken(), rules);
    const rotated = await tokenWithKid("k2");
    published = [await publicJwk("k1", "ES256"), await publicJwk("k2", "ES256")];
    expect(await verifyAll([rotated], rules)).toEqual(["its issuer has no key of its kid and alg"]);
    expect(urls).toHaveLength(1);
    clock.advance(MINUTE);
    const unknownKids = await Promise.all(["x1", "x2", "x3"].map(tokenWithKid));
    const reasons = await verifyAll([...unknownKids, rotated, rotated], rules);
    expect(reasons.map((result) => result === true)).toEqual([false, false, false, true, true]);
    expect(urls).toHaveLength(2);
    clock.advance(59 * SECOND);
    await verifyAll(unknownKids, rules);
    expect(urls).toHaveLength(2);
  });

  test("a withdrawn key is rejected after ten minutes, with one shared fetch", async () => {
    for (const idle of [10 * MINUTE, 20 * HOUR]) {
      let published = [await publicJwk("k1", "ES256"), await publicJwk("k2", "ES256")];
      const { rules, clock, urls } = await createRules(() => json({ keys: published }));
      const exp = NOW_S + 86_400 * 3;
      const [stillValid, withdrawn] = [
        await validToken({ exp }),
        await signedToken({ ...VALID_CLAIMS, exp }, { ...HEADER, kid: "k2" }),
      ];
      await verifyToken(withdrawn, rules);
      published = [await publicJwk("k1", "ES256")];
      clock.advance(idle - SECOND);
      // A second earlier, keys of ten minutes are still used, and those of 20 hours are not.
      if (idle === 10 * MINUTE) expect(await verifyAll([withdrawn], rules)).toEqual([true]);
      clock.advance(SECOND);
      const noKey = "its issuer has no key of its kid and alg";
      expect(await verifyAll([withdrawn, stillValid, withdrawn, stillValid], rules)).toEqual([
        noKey,
        true,
        noKey,
        true,
      ]);
      expect(urls).toHaveLength(2);
    }
  });

  test("while the issuer is unreachable, known keys are valid for a day; unknown ones are rejected", async () => {
    const failures: [string, (set: string) => Response | Promise<Response>][] = [
      ["no connection", () => Promise.reject(new TypeError("fetch failed"))],
      ["500", (set) => new Response(set, { status: 500 })],
      ["a redirect", (set) => new Response(set, { status: 302, headers: { location: "https://mallory.example" } })],
      ["no JSON", () => new Response("<html>")],
      ["no keys", () => json({ keys: [] })],
      ["not a set", () => json({ keys: ["k1"] })],
      ["too large", (set) => new Response(`${" ".repeat(256 * 1024)}${set}`)],
    ];
    for (const [name, answer] of failures) {
      let isReachable = true;
      const publishedKeys = await createKeys();
      const { rules, clock, urls } = await createRules(() =>
        isReachable ? json({ keys: publishedKeys }) : answer(JSON.stringify({ keys: publishedKeys })),
      );
      const token = await signedToken({ ...VALID_CLAIMS, exp: NOW_S + 86_400 * 3 }, HEADER);
      await verifyToken(token, rules);
      isReachable = false;
      for (let minute = 0; minute < 30; minute++) {
        clock.advance(MINUTE);
        const tokens = [token, token, ...(await Promise.all(["x1", "x2"].map(tokenWithKid)))];
        expect(
          (await verifyAll(tokens, rules)).map((result) => result === true),
          name,
        ).toEqual([true, true, false, false]);
      }
      // One at the start, and one in each minute.
      expect(urls.length, name).toBe(31);
      clock.advance(24 * HOUR);
      expect((await verifyAll([token], rules))[0], name).toContain(`no keys from ${JWKS}`);
      isReachable = true;
      clock.advance(MINUTE);
      expect(await verifyAll([token], rules), name).toEqual([true]);
    }
  });

  test("a fetch of the key set times out after five seconds", async () => {
    const { rules } = await createRules(() => new Promise<Response>(() => {}));
    const token = await validToken();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const reasons = verifyAll([token], rules);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await reasons).toEqual([`no keys from ${JWKS}: no answer within 5 s`]);
  });
});
