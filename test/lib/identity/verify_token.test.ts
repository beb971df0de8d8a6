/** Tokens that must not be accepted, and the keys that judge them. */
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
const GOOD = { iss: ISSUER, aud: "gate", sub: "ana", email: "ana@acme.example", exp: NOW_S + 600, iat: NOW_S };
const HEADER = { alg: "ES256", kid: "k1" } as const;

const json = (value: unknown): Response => new Response(JSON.stringify(value));
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const keys = async (): Promise<object[]> => [
  await publicJwk("k1", "ES256"),
  await publicJwk("r1", "RS256"),
  await publicJwk("p1", "PS256"),
  await publicJwk("e3", "ES384"),
];

/** Rules of the issuer, whose key set is answered by `answer`. */
async function rulesOf(over: Partial<TokenRules> = {}, answer?: () => Response | Promise<Response>) {
  const clock: TestClock = testClock();
  const known = await keys();
  const server = keyServer(answer ?? (() => json({ keys: known })));
  const findKey = keySetFinder(JWKS, { clock, fetch: server.fetch });
  return {
    clock,
    urls: server.urls,
    rules: { issuer: ISSUER, audience: "gate", algorithms: ["ES256", "RS256"], findKey, clock, ...over } as TokenRules,
  };
}

const hs256 = (header: object, claims: object, secret: string): string => {
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

/** Swaps one part of a token. */
const swapped = (token: string, index: number, text: string): string =>
  token
    .split(".")
    .map((one, at) => (at === index ? text : one))
    .join(".");

const good = (claims: object = {}, header: object = {}): Promise<string> =>
  signedToken({ ...GOOD, ...claims }, { ...HEADER, ...header });
const without = (claim: keyof typeof GOOD): Promise<string> => {
  const { [claim]: _, ...claims } = GOOD;
  return signedToken(claims, HEADER);
};
const compact = async (payload: string, header: object = {}): Promise<string> =>
  new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ ...HEADER, ...header })
    .sign((await makePair("k1", "ES256")).privateKey);

const ATTACKS: [string, () => Promise<string> | string][] = [
  ["alg none", () => new UnsecuredJWT(GOOD).encode()],
  [
    "alg none with a kid and the signature of another token",
    async () => swapped(await good(), 0, part({ alg: "none", kid: "k1" })),
  ],
  ["alg NONE in capitals", () => `${part({ alg: "NONE", kid: "k1" })}.${part(GOOD)}.`],
  ["alg as a list", async () => swapped(await good(), 0, part({ alg: ["ES256"], kid: "k1" }))],
  [
    "HS256 with the PEM of the public key",
    async () => hs256({ alg: "HS256", kid: "r1" }, GOOD, await publicPem("r1", "RS256")),
  ],
  [
    "HS256 with the JWK of the public key",
    async () => hs256({ alg: "HS256", kid: "r1" }, GOOD, JSON.stringify(await publicJwk("r1", "RS256"))),
  ],
  ["HS256 with an empty secret", () => hs256({ alg: "HS256", kid: "k1" }, GOOD, "")],
  [
    "a listed algorithm with the key of another type",
    async () => swapped(await good(), 0, part({ alg: "RS256", kid: "k1" })),
  ],
  ["an algorithm that is not listed", () => signedToken(GOOD, { alg: "PS256", kid: "p1" })],
  ["a curve that is not listed", () => signedToken(GOOD, { alg: "ES384", kid: "e3" })],
  [
    "P-256 in its name, P-384 in its key",
    async () => swapped(await signedToken(GOOD, { alg: "ES384", kid: "e3" }), 0, part(HEADER)),
  ],
  ["another key under a known kid", () => signedToken(GOOD, HEADER, "mallory")],
  ["no kid", () => compact(JSON.stringify(GOOD), { kid: undefined })],
  ["a kid that is a path", async () => signedToken(GOOD, { ...HEADER, kid: "../../../../dev/null" }, "mallory")],
  ["a kid that is an address", () => signedToken(GOOD, { ...HEADER, kid: "https://mallory.example/jwks" }, "mallory")],
  ["a kid that is a number", async () => swapped(await good(), 0, part({ alg: "ES256", kid: 1 }))],
  [
    "a jku with a key set of the sender",
    () => signedToken(GOOD, { ...HEADER, jku: "https://mallory.example/jwks" }, "mallory"),
  ],
  ["an x5u of the sender", () => signedToken(GOOD, { ...HEADER, x5u: "https://mallory.example/x5u" }, "mallory")],
  [
    "a jwk in the header",
    async () => signedToken(GOOD, { ...HEADER, jwk: (await publicJwk("mallory", "ES256")) as never }, "mallory"),
  ],
  ["an x5c in the header", () => signedToken(GOOD, { ...HEADER, x5c: ["MIIB"] }, "mallory")],
  ["crit", () => compact(JSON.stringify(GOOD), { crit: ["b64"], b64: true })],
  ["a crit that is empty", async () => swapped(await good(), 0, part({ ...HEADER, crit: [] }))],
  ["an unencoded payload", async () => swapped(await good(), 0, part({ ...HEADER, crit: ["b64"], b64: false }))],
  ["the typ of a log-out token", () => good({}, { typ: "logout+jwt" })],
  ["the typ of an access token", () => good({}, { typ: "at+jwt" })],
  ["a typ that is a number", () => good({}, { typ: 1 })],
  ["another audience", () => good({ aud: "wiki" })],
  ["audiences without ours", () => good({ aud: ["wiki", "gate2", "gat"] })],
  ["an audience list in a list", () => good({ aud: [["gate"]] })],
  ["an audience object", () => good({ aud: { 0: "gate", includes: "gate" } })],
  ["audiences in one text", () => good({ aud: "wiki,gate" })],
  ["no audience", () => without("aud")],
  ["another issuer", () => good({ iss: "https://id.evil.example" })],
  ["the issuer with a slash", () => good({ iss: `${ISSUER}/` })],
  ["a list of issuers", () => good({ iss: [ISSUER] as never })],
  ["no issuer", () => without("iss")],
  ["expired", () => good({ exp: NOW_S - 31 })],
  ["no expiry", () => without("exp")],
  ["an expiry that is text", () => good({ exp: String(NOW_S + 600) as never })],
  ["an expiry that is null", () => good({ exp: null as never })],
  ["not valid yet", () => good({ nbf: NOW_S + 32 })],
  ["issued in the future", () => good({ iat: NOW_S + 32 })],
  ["issued at a text", () => good({ iat: "now" as never })],
  ["claims changed after signing", async () => swapped(await good(), 1, part({ ...GOOD, email: "bo@acme.example" }))],
  ["a header changed after signing", async () => swapped(await good(), 0, part({ ...HEADER, extra: 1 }))],
  ["no signature", async () => swapped(await good(), 2, "")],
  ["a signature of zeros", async () => swapped(await good(), 2, Buffer.alloc(64).toString("base64url"))],
  [
    "the signature in DER",
    async () => swapped(await good(), 2, Buffer.from("3006020101020101", "hex").toString("base64url")),
  ],
  ["a token of 16,385 characters", () => good({ pad: "x".repeat(16_384) })],
  ["a token in a token", async () => compact(await good(), { cty: "JWT" })],
  ["claims that are a list", () => compact(JSON.stringify([GOOD]))],
  ["claims that are no JSON", () => compact("{")],
  [
    "claims that are not UTF-8",
    async () => swapped(await good(), 1, Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")),
  ],
  ["claims nested 5,000 deep", () => compact(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)],
  [
    "encrypted in place of signed",
    async () => new EncryptJWT(GOOD).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(new Uint8Array(32)),
  ],
  ["two tokens, joined as a repeated header is", async () => `${await good()}, ${await good()}`],
  ["a scheme before it", async () => `Bearer ${await good()}`],
  [
    "JSON serialisation",
    async () => {
      const [header, payload, signature] = (await good()).split(".");
      return JSON.stringify({ protected: header, payload, signature });
    },
  ],
  ["two dots", () => ".."],
  ["nothing", () => ""],
];

test(`0 of ${ATTACKS.length} tokens are accepted, and the token that they are made of is`, async () => {
  const { rules, urls } = await rulesOf();
  expect(await verifyToken(await good(), rules)).toEqual(GOOD);
  expect(await verifyToken(await good({ aud: ["wiki", "gate"] }, { typ: "JWT" }), rules)).toMatchObject({ sub: "ana" });
  expect(await verifyToken(await signedToken(GOOD, { alg: "RS256", kid: "r1" }), rules)).toEqual(GOOD);
  const accepted: string[] = [];
  for (const [name, make] of ATTACKS) {
    const token = await make();
    await verifyToken(token, rules).then(
      () => accepted.push(name),
      (error: unknown) => expect(error, name).toBeInstanceOf(TokenRejected),
    );
  }
  expect(accepted).toEqual([]);
  // Only the issuer was asked, and once: the clock stands.
  expect(urls).toEqual([JWKS]);
});

test("a clock that differs by 30 s is tolerated in exp, nbf and iat", async () => {
  const { rules } = await rulesOf();
  for (const claims of [{ exp: NOW_S - 29 }, { nbf: NOW_S + 30 }, { iat: NOW_S + 30 }])
    await verifyToken(await good(claims), rules);
});

test("the claimed issuer is read synchronously, and reading it never throws", async () => {
  expect(readClaimedIssuer(await good())).toBe(ISSUER);
  for (const text of ["", "..", "a.b.c", `a.${part(null)}.c`, `a.${part({ iss: 1 })}.c`, "x".repeat(20_000)])
    expect(readClaimedIssuer(text)).toBeUndefined();
});

describe("keys", () => {
  const unknown = (kid: string): Promise<string> => signedToken(GOOD, { ...HEADER, kid });
  const settle = (tokens: string[], rules: TokenRules) =>
    Promise.all(
      tokens.map((token) =>
        verifyToken(token, rules).then(
          () => true,
          (error: TokenRejected) => error.detail,
        ),
      ),
    );

  test("a thousand tokens at the start cause one fetch", async () => {
    const { rules, urls } = await rulesOf();
    const token = await good();
    expect(
      new Set(
        await settle(
          Array.from({ length: 1000 }, () => token),
          rules,
        ),
      ),
    ).toEqual(new Set([true]));
    expect(urls).toHaveLength(1);
  });

  test("an unknown kid causes one shared fetch a minute", async () => {
    let published = [await publicJwk("k1", "ES256")];
    const { rules, urls, clock } = await rulesOf({}, () => json({ keys: published }));
    await verifyToken(await good(), rules);
    const rotated = await unknown("k2");
    published = [await publicJwk("k1", "ES256"), await publicJwk("k2", "ES256")];
    expect(await settle([rotated], rules)).toEqual(["its issuer has no key of its kid and alg"]);
    expect(urls).toHaveLength(1);
    clock.advance(MINUTE);
    const strangers = await Promise.all(["x1", "x2", "x3"].map(unknown));
    const reasons = await settle([...strangers, rotated, rotated], rules);
    expect(reasons.map((one) => one === true)).toEqual([false, false, false, true, true]);
    expect(urls).toHaveLength(2);
    clock.advance(59 * SECOND);
    await settle(strangers, rules);
    expect(urls).toHaveLength(2);
  });

  test("a withdrawn key is rejected after ten minutes, with one shared fetch", async () => {
    for (const idle of [10 * MINUTE, 20 * HOUR]) {
      let published = [await publicJwk("k1", "ES256"), await publicJwk("k2", "ES256")];
      const { rules, clock, urls } = await rulesOf({}, () => json({ keys: published }));
      const exp = NOW_S + 86_400 * 3;
      const [kept, withdrawn] = [await good({ exp }), await signedToken({ ...GOOD, exp }, { ...HEADER, kid: "k2" })];
      await verifyToken(withdrawn, rules);
      published = [await publicJwk("k1", "ES256")];
      clock.advance(idle - SECOND);
      if (idle === 10 * MINUTE) expect(await settle([withdrawn], rules)).toEqual([true]);
      clock.advance(SECOND);
      const none = "its issuer has no key of its kid and alg";
      expect(await settle([withdrawn, kept, withdrawn, kept], rules)).toEqual([none, true, none, true]);
      expect(urls).toHaveLength(2);
    }
  });

  test("while the issuer is unreachable, known keys are valid for a day; unknown ones are rejected", async () => {
    const broken: [string, (set: string) => Response | Promise<Response>][] = [
      ["away", () => Promise.reject(new TypeError("fetch failed"))],
      ["500", (set) => new Response(set, { status: 500 })],
      ["a redirect", (set) => new Response(set, { status: 302, headers: { location: "https://mallory.example" } })],
      ["no JSON", () => new Response("<html>")],
      ["no keys", () => json({ keys: [] })],
      ["not a set", () => json({ keys: ["k1"] })],
      ["too large", (set) => new Response(`${" ".repeat(256 * 1024)}${set}`)],
    ];
    for (const [name, answer] of broken) {
      let up = true;
      const known = await keys();
      const { rules, clock, urls } = await rulesOf({}, () =>
        up ? json({ keys: known }) : answer(JSON.stringify({ keys: known })),
      );
      const day = await signedToken({ ...GOOD, exp: NOW_S + 86_400 * 3 }, HEADER);
      await verifyToken(day, rules);
      up = false;
      for (let minute = 0; minute < 30; minute++) {
        clock.advance(MINUTE);
        const tokens = [day, day, ...(await Promise.all(["x1", "x2"].map(unknown)))];
        expect(
          (await settle(tokens, rules)).map((one) => one === true),
          name,
        ).toEqual([true, true, false, false]);
      }
      expect(urls.length, name).toBe(31);
      clock.advance(24 * HOUR);
      expect((await settle([day], rules))[0], name).toContain(`no keys from ${JWKS}`);
      up = true;
      clock.advance(MINUTE);
      expect(await settle([day], rules), name).toEqual([true]);
    }
  });

  test("a fetch of the key set times out after five seconds", async () => {
    const { rules } = await rulesOf({}, () => new Promise<Response>(() => {}));
    const token = await good();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const reasons = settle([token], rules);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await reasons).toEqual([`no keys from ${JWKS}: no answer within 5 s`]);
  });
});
