/** The file of `--identity-jwt`, and tokens of each preset in the form that the proxy's documentation describes. */
import { expect, test } from "vitest";
import { readIdentityFile } from "../../../lib/identity/identity_file.ts";
import { personTokenVerifier } from "../../../lib/identity/person_token.ts";
import { TokenRejected } from "../../../lib/identity/token_rejected.ts";
import { MINUTE, testClock } from "../../support/clock.ts";
import { keyServer, makePair, NOW_S, publicJwk, publicPem, signedToken } from "../../support/token_issuer.ts";

const TEAM = "https://acme.cloudflareaccess.com";
const SIGNER = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/gov/50dc6c495c0c9188";
const KID = "7d2cbb6e-5d6c-4c8b-9b5d-3a1f0c6f3f10";
const ALB_KEYS = "https://public-keys.auth.elb.eu-west-1.amazonaws.com/";
const IAP_AUD = "/projects/123/global/backendServices/456";
const CF = { preset: "cloudflare-access", issuer: TEAM, audience: "a" };
const times = { iat: NOW_S, exp: NOW_S + 300 };
/** The clocks of service and issuer may differ by 30 seconds. */
const EXPIRED = { exp: NOW_S - 31 };

interface Sample {
  file: Record<string, unknown>;
  header: string;
  keys: string;
  alg: "ES256" | "RS256";
  claims: Record<string, unknown>;
  person: object;
  /** Claims with which the token is for another application, issuer or kind of caller. */
  foreign: Record<string, unknown>[];
}

const SAMPLES: Record<string, Sample> = {
  "oauth2-proxy": {
    file: { issuer: "https://kc.acme.example/realms/acme", audience: "gov", jwks_url: "https://kc.acme.example/certs" },
    header: "x-auth-request-id-token",
    keys: "https://kc.acme.example/certs",
    alg: "RS256",
    claims: {
      iss: "https://kc.acme.example/realms/acme",
      aud: "gov",
      azp: "gov",
      sub: "f:1",
      email: "ana@acme.example",
      email_verified: true,
      groups: ["release", "ops"],
      ...times,
    },
    person: { name: "ana@acme.example", groups: ["release", "ops"] },
    foreign: [{ aud: "wiki" }, { iss: "https://kc.acme.example/realms/other" }, { email_verified: false }],
  },
  "cloudflare-access": {
    file: { issuer: TEAM, audience: "4714c1358e65fe4b" },
    header: "cf-access-jwt-assertion",
    keys: `${TEAM}/cdn-cgi/access/certs`,
    alg: "RS256",
    claims: {
      aud: ["4714c1358e65fe4b"],
      email: "ana@acme.example",
      nbf: NOW_S,
      iss: TEAM,
      type: "app",
      identity_nonce: "6ei69kawdKzMIAPF",
      sub: "7335d417-61da-459d-899c-0a01c76a2f94",
      country: "DE",
      ...times,
    },
    person: { name: "ana@acme.example", groups: [] },
    // The second is a service token, which has no e-mail address, and "" for sub.
    foreign: [
      { aud: ["5"] },
      { email: undefined, common_name: "e367", sub: "" },
      { iss: "https://b.cloudflareaccess.com" },
    ],
  },
  "google-iap": {
    file: { audience: IAP_AUD },
    header: "x-goog-iap-jwt-assertion",
    keys: "https://www.gstatic.com/iap/verify/public_key-jwk",
    alg: "ES256",
    claims: {
      iss: "https://cloud.google.com/iap",
      aud: IAP_AUD,
      azp: IAP_AUD,
      sub: "accounts.google.com:1234567890",
      email: "ana@acme.example",
      hd: "acme.example",
      google: { access_levels: ["accessPolicies/1/accessLevels/a"] },
      ...times,
    },
    person: { name: "ana@acme.example", groups: [] },
    foreign: [{ aud: "/projects/123/global/backendServices/457" }, { iss: "https://accounts.google.com" }],
  },
  pomerium: {
    file: { audience: "gov.acme.example" },
    header: "x-pomerium-jwt-assertion",
    keys: "https://gov.acme.example/.well-known/pomerium/jwks.json",
    alg: "ES256",
    claims: {
      iss: "gov.acme.example",
      aud: "gov.acme.example",
      sub: "u1",
      email: "ana@acme.example",
      name: "Ana",
      groups: ["release"],
      jti: "1",
      ...times,
    },
    person: { name: "ana@acme.example", groups: ["release"] },
    foreign: [{ aud: "wiki.acme.example", iss: "wiki.acme.example" }],
  },
};

test.each(Object.entries(SAMPLES))(
  "a token of %s identifies the person; a token for another application is rejected",
  async (preset, sample) => {
    const { file, header, keys, alg, claims, person, foreign } = sample;
    const { fetch, urls } = keyServer(async () => Response.json({ keys: [await publicJwk("k1", alg)] }));
    const settings = readIdentityFile(JSON.stringify({ preset, ...file }));
    const tokens = personTokenVerifier(settings, { clock: testClock(), fetch });
    const sign = (changes: object = {}) => signedToken({ ...claims, ...changes }, { alg, kid: "k1", typ: "JWT" });
    expect(tokens.header).toBe(header);
    expect(await tokens.verify(await sign())).toEqual(person);
    expect(urls).toEqual([keys]);
    for (const changes of [...foreign, EXPIRED, { exp: undefined }])
      await expect(tokens.verify(await sign(changes)), JSON.stringify(changes)).rejects.toThrow(TokenRejected);
  },
);

test("claims are found by name, or by a path that begins with a slash", async () => {
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("k1", "RS256")] }));
  const file = {
    preset: "cloudflare-access",
    issuer: TEAM,
    audience: "a",
    name_claim: "sub",
    groups_claim: "/custom/groups",
  };
  const tokens = personTokenVerifier(readIdentityFile(JSON.stringify(file)), { clock: testClock(), fetch });
  const groups: [unknown, unknown][] = [
    [{ groups: ["a", 7, null, "b"] }, ["a", "b"]],
    [{ groups: "a" }, ["a"]],
    [{ groups: { a: true } }, []],
    ["groups", []],
    [undefined, []],
  ];
  for (const [custom, expected] of groups) {
    const claims = { iss: TEAM, aud: "a", sub: "u1", custom, ...times };
    const token = await signedToken(claims, { alg: "RS256", kid: "k1" });
    expect(await tokens.verify(token)).toEqual({ name: "u1", groups: expected });
  }
});

test("an unverified e-mail address identifies no one, for any spelling of its claim", async () => {
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("k1", "RS256")] }));
  const notVerified = "its email is not verified (email_verified)";
  const [top, nested] = [{ email: "ana@acme.example" }, { user: { email: "ana@acme.example" } }];
  const cases: [string, object, string][] = [
    ["email", { ...top, email_verified: false }, notVerified],
    ["/email", { ...top, email_verified: false }, notVerified],
    ["/email", { ...top, email_verified: "False" }, notVerified],
    ["/email", { ...top, email_verified: true }, "ana@acme.example"],
    ["/email", top, "ana@acme.example"],
    ["/user/email", { user: { ...nested.user, email_verified: "false" } }, notVerified],
    ["/user/email", { ...nested, email_verified: false }, notVerified],
    ["/user/email", nested, "ana@acme.example"],
    ["/sub", { ...top, sub: "u1", email_verified: false }, "u1"],
  ];
  for (const [name_claim, claims, expected] of cases) {
    const settings = readIdentityFile(JSON.stringify({ ...CF, name_claim }));
    const tokens = personTokenVerifier(settings, { clock: testClock(), fetch });
    const token = await signedToken({ iss: TEAM, aud: "a", ...claims, ...times }, { alg: "RS256", kid: "k1" });
    const result = await tokens.verify(token).then(
      ({ name }) => name,
      ({ message }: TokenRejected) => message,
    );
    expect(result, JSON.stringify([name_claim, claims])).toBe(expected);
  }
});

/** Signs a token as a load balancer of AWS does: each part has base64 padding, and the header has signer and client. */
async function albToken(headerChanges: object = {}, claims: object = {}, keyId = KID): Promise<string> {
  const pad = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
  const header = {
    alg: "ES256",
    kid: KID,
    signer: SIGNER,
    iss: "https://idp",
    client: "gov",
    exp: NOW_S + 120,
    typ: "JWT",
    ...headerChanges,
  };
  const signed = `${pad(header)}.${pad({ sub: "u1", email: "ana@acme.example", email_verified: "true", exp: NOW_S + 120, iss: "https://idp", ...claims })}`;
  const { privateKey } = await makePair(keyId, "ES256");
  const bytes = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, Buffer.from(signed));
  return `${signed}.${Buffer.from(bytes).toString("base64").replaceAll("+", "-").replaceAll("/", "_")}`;
}

test("a load balancer's token identifies the person; its header states the audience", async () => {
  const clock = testClock();
  const { fetch, urls } = keyServer(async (url) =>
    url.endsWith(KID) ? new Response(await publicPem(KID, "ES256")) : new Response("", { status: 404 }),
  );
  const file = { preset: "aws-alb", audience: "gov", signer: SIGNER };
  const tokens = personTokenVerifier(readIdentityFile(JSON.stringify(file)), { clock, fetch });
  const verifyAndExplain = async (token: string | Promise<string>) =>
    tokens.verify(await token).then(
      () => "accepted",
      (error: TokenRejected) => error.message,
    );
  expect(tokens.header).toBe("x-amzn-oidc-data");
  expect(await albToken()).toContain("=");
  expect(await Promise.all([1, 2, 3].map(async () => tokens.verify(await albToken())))).toMatchObject([
    { name: "ana@acme.example" },
    { name: "ana@acme.example" },
    { name: "ana@acme.example" },
  ]);
  expect(urls).toEqual([`${ALB_KEYS}${KID}`]);
  const foreign: [object, string][] = [
    [{ signer: SIGNER.replace("gov", "wiki") }, "its signer is another load balancer"],
    [{ signer: undefined }, "its signer is another load balancer"],
    [{ client: "wiki" }, "its client is another application"],
    [{ client: ["gov"] }, "its client is another application"],
    [EXPIRED, "it has expired (exp)"],
    [{ exp: undefined }, "it has expired (exp)"],
    [{ kid: "../../x" }, "its kid is not a UUID"],
    [{ kid: `${KID}/../x` }, "its kid is not a UUID"],
    [{ alg: "none" }, '"alg" (Algorithm) Header Parameter value not allowed'],
  ];
  for (const [changes, message] of foreign) expect(await verifyAndExplain(albToken(changes)), message).toBe(message);
  expect(await verifyAndExplain(albToken({}, {}, "mallory"))).toBe("signature verification failed");
  expect(await verifyAndExplain(albToken({}, { email_verified: "false" }))).toContain("not verified");
  expect(urls).toHaveLength(1);
  const otherIssuer = personTokenVerifier(readIdentityFile(JSON.stringify({ ...file, issuer: "https://other" })), {
    clock,
    fetch,
  });
  await expect(otherIssuer.verify(await albToken())).rejects.toThrow("its iss is another issuer");
});

test("each unknown key id causes one fetch a minute, and valid keys can still be fetched", async () => {
  const clock = testClock();
  const keyId = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
  const delayedAnswers: (() => void)[] = [];
  let isSlow = false;
  const { fetch, urls } = keyServer(async (url) => {
    if (url.endsWith(KID)) return new Response(await publicPem(KID, "ES256"));
    if (isSlow) await new Promise<void>((resolve) => delayedAnswers.push(resolve));
    return new Response("", { status: 404 });
  });
  const settings = readIdentityFile(JSON.stringify({ preset: "aws-alb", audience: "gov", signer: SIGNER }));
  const tokens = personTokenVerifier(settings, { clock, fetch });
  const tryKey = async (kid: string) =>
    tokens.verify(await albToken({ kid })).then(
      () => "accepted",
      ({ detail }: TokenRejected) => detail,
    );
  for (let at = 0; at < 30; at++)
    expect(await tryKey(keyId(at % 15))).toBe(`no keys from ${ALB_KEYS}${keyId(at % 15)}: status 404`);
  expect(urls).toHaveLength(15);
  // After 15 fetches in a minute only one further fetch runs at a time.
  isSlow = true;
  const slow = tryKey(keyId(15));
  await expect.poll(() => delayedAnswers.length).toBe(1);
  const reason = "which was asked for 16 keys in a minute and has not answered all of them";
  for (const kid of [keyId(16), KID]) expect(await tryKey(kid)).toBe(`no keys from ${ALB_KEYS}, ${reason}`);
  expect(urls).toHaveLength(16);
  delayedAnswers.pop()!();
  await slow;
  expect(await tryKey(KID)).toBe("accepted");
  isSlow = false;
  // The key of the load balancer was the 17th fetch. After a minute an unknown key is fetched again.
  clock.advance(MINUTE);
  await tryKey(keyId(14));
  expect(urls).toHaveLength(18);
});

test.each<[unknown, string]>([
  ["{", "is not valid JSON"],
  [[], "must be a JSON object"],
  [
    { preset: "okta", audience: "a" },
    "preset: must be one of oauth2-proxy, cloudflare-access, google-iap, aws-alb, pomerium",
  ],
  [{ preset: "google-iap" }, "audience: is required"],
  [{ preset: "google-iap", audience: "" }, "audience: must not be empty"],
  [{ preset: "google-iap", audience: [] }, "audience: must name an audience"],
  [{ preset: "google-iap", audience: 7 }, "audience: must be text, or a list of texts"],
  [{ preset: "google-iap", audiance: "a", audience: "a" }, "audiance: is not a field of this file"],
  [{ ...CF, issuer: undefined }, "issuer: is required with the preset cloudflare-access"],
  [{ preset: "aws-alb", audience: "a" }, "signer: is required with the preset aws-alb"],
  [
    { preset: "aws-alb", audience: "a", signer: "arn:aws:iam::1:role/x" },
    "signer: must be the ARN of an application load balancer",
  ],
  [{ ...CF, signer: SIGNER }, "signer: goes with the preset aws-alb"],
  [
    { preset: "oauth2-proxy", issuer: "https://idp", audience: "a" },
    "jwks_url: is required with the preset oauth2-proxy",
  ],
  [{ audience: "a", issuer: "b", header: "x", jwks_url: "https://x" }, "algorithms: is required without a preset"],
  [
    { audience: "a", issuer: "b", algorithms: ["ES256"], jwks_url: "https://x" },
    "header: is required without a preset",
  ],
  [{ ...CF, algorithms: ["HS256"] }, "algorithms.0: must be among ES256, ES384"],
  [{ ...CF, algorithms: ["none"] }, "algorithms.0: must be among ES256, ES384"],
  [{ ...CF, jwks_url: "http://acme.example/jwks" }, "jwks_url: must be an https URL, or http on this machine"],
  [{ ...CF, jwks_url: "http://127.0.0.1.evil.example/" }, "jwks_url: must be an https URL"],
  [{ ...CF, jwks_url: "https://:secret@acme.example/jwks" }, "jwks_url: must be an https URL"],
  [{ ...CF, jwks_url: "file:///etc/passwd" }, "jwks_url: must be an https URL"],
  [{ ...CF, header: "Authorization" }, "header: must not be Authorization"],
  [{ ...CF, header: "x y" }, "header: must be the name of an HTTP header"],
])("%j is rejected at the start", (file, message) => {
  const text = typeof file === "string" ? file : JSON.stringify(file);
  expect(() => readIdentityFile(text)).toThrow(message);
});
