/** The client of a GitHub App: its requests, the reuse of tokens, and failures. */
import { beforeAll, expect, test } from "vitest";
import { decodeJwt } from "jose/jwt/decode";
import { githubApp, parseJson } from "../../../lib/github/app.ts";
import { HOUR, MINUTE, testClock } from "../../support/clock.ts";
import { API, appKeyPem } from "../../support/github_stub.ts";

// Makes the key before the tests, since that can take long; each call returns the same key.
beforeAll(() => void appKeyPem());

const ACME = { installation_id: 77, repository_id: 42 };
type SentRequest = { url: string; init: RequestInit & { headers: Record<string, string> } };
type Respond = (request: SentRequest, number: number) => Response | Promise<Response>;

/**
 * Creates a client with a simulated GitHub. Requests for tokens are answered by `respondToken`, by default with tokens that
 * expire after an hour; other requests are answered by `respond`.
 */
function createApp({
  respond = () => new Response("{}"),
  respondToken,
}: { respond?: Respond; respondToken?: Respond } = {}) {
  const clock = testClock();
  const sent: SentRequest[] = [];
  const tokens = { count: 0 };
  const answer: Respond = (request, number) => {
    if (!request.url.endsWith("/access_tokens")) return respond(request, number);
    if (respondToken) return respondToken(request, number);
    return Response.json({ token: `ghs_${++tokens.count}`, expires_at: new Date(clock.now() + HOUR).toISOString() });
  };
  const client = githubApp(
    { app_id: 5, key: appKeyPem(), api: API },
    {
      clock,
      timeout: 1500,
      fetch: async (url, init) => {
        const request = { url, init: init as SentRequest["init"] };
        sent.push(request);
        return answer(request, sent.length);
      },
    },
  );
  const send = (as: "app" | typeof ACME = ACME, options: object = {}) =>
    client.send({ method: "POST", path: "/x", body: { a: 1 }, as, ...options });
  const paths = () => sent.map(({ url }) => url.slice(API.length));
  return { clock, client, send, sent, paths, tokens };
}

const TOKENS_PATH = "/app/installations/77/access_tokens";
const githubError = (message: string, members: object = {}) =>
  expect.objectContaining({ name: "GithubFailed", message, ...members });

test("a request has a token of the installation for one repository and one permission", async () => {
  const { send, sent, paths } = createApp();
  expect((await send()).text).toBe("{}");
  expect(paths()).toEqual([TOKENS_PATH, "/x"]);
  const [token, request] = sent;
  expect(JSON.parse(String(token!.init.body))).toEqual({ repository_ids: [42], permissions: { deployments: "write" } });
  expect(request!.init).toMatchObject({ method: "POST", redirect: "manual", body: '{"a":1}' });
  expect(request!.init.headers).toEqual({
    accept: "application/vnd.github+json",
    authorization: "Bearer ghs_1",
    "user-agent": "countersign",
    "x-github-api-version": "2022-11-28",
    "content-type": "application/json",
  });
});

test("a request without a body has no content-type", async () => {
  const { send, sent } = createApp();
  await send("app", { method: "GET", body: undefined });
  expect(sent[0]!.init.headers).not.toHaveProperty("content-type");
  expect(sent[0]!.init).not.toHaveProperty("body");
});

test("the App itself signs a JWT of nine minutes, dated a minute back", async () => {
  const { send, sent, clock } = createApp();
  await send("app");
  const { iss, iat, exp } = decodeJwt(sent[0]!.init.headers["authorization"]!.slice("Bearer ".length));
  const now = Math.floor(clock.now() / 1000);
  expect({ iss, iat, exp }).toEqual({ iss: "5", iat: now - 60, exp: now + 540 });
});

test("a token is used until five minutes before it expires, and concurrent callers share one", async () => {
  const { client, send, clock, tokens } = createApp();
  await Promise.all([send(), send(), client.authorize(ACME)]);
  expect(tokens.count).toBe(1);
  clock.advance(HOUR - 5 * MINUTE - 1);
  await client.authorize(ACME);
  expect(tokens.count).toBe(1);
  clock.advance(1);
  await client.authorize(ACME);
  expect(tokens.count).toBe(2);
  // Another repository needs a token of its own.
  await client.authorize({ ...ACME, repository_id: 43 });
  expect(tokens.count).toBe(3);
});

test("a failed request for a token is repeated by the next call", async () => {
  const { client, clock } = createApp({
    respondToken: (_, number) =>
      number === 1
        ? new Response("{}", { status: 502 })
        : Response.json({ token: "ghs_x", expires_at: new Date(clock.now() + HOUR).toISOString() }),
  });
  await expect(client.authorize(ACME)).rejects.toEqual(githubError("GitHub answered 502", { status: 502 }));
  await expect(client.authorize(ACME)).resolves.toBeUndefined();
});

/** After a 401 the token is not used again. */
test.each([
  [401, 2],
  [403, 1],
])("after a request with status %i and the next one, %i tokens were requested", async (status, tokenCount) => {
  const { send, tokens } = createApp({
    // Request 1 is for a token, request 2 is the first call.
    respond: (_, number) => new Response("{}", { status: number === 2 ? status : 200 }),
  });
  await expect(send()).rejects.toEqual(githubError(`GitHub answered ${status}`, { status }));
  await send();
  expect(tokens.count).toBe(tokenCount);
});

test.each<[string, unknown]>([
  ["no JSON", "<html>"],
  ["no token", { expires_at: "2030-01-01T00:00:00Z" }],
  ["a token with a line break", { token: "ghs\nx", expires_at: "2030-01-01T00:00:00Z" }],
  ["a token after a space", { token: " ghs", expires_at: "2030-01-01T00:00:00Z" }],
  ["an empty token", { token: "", expires_at: "2030-01-01T00:00:00Z" }],
  ["an expiry that is no time", { token: "ghs", expires_at: "soon" }],
])("a token response with %s is rejected", async (_, body) => {
  const { client } = createApp({
    respondToken: () => new Response(typeof body === "string" ? body : JSON.stringify(body)),
  });
  await expect(client.authorize(ACME)).rejects.toEqual(
    githubError("GitHub answered something other than an installation token"),
  );
});

test("the expiry of a token may be in another time zone", async () => {
  const { client } = createApp({
    respondToken: () => Response.json({ token: "ghs", expires_at: "2030-01-01T01:00:00+01:00" }),
  });
  await expect(client.authorize(ACME)).resolves.toBeUndefined();
});

test.each<[string, Respond, object]>([
  [
    "status 429, with its pause,",
    () => new Response("{}", { status: 429, headers: { "retry-after": "90" } }),
    githubError("GitHub answered 429", { status: 429, retryAfterMs: 90_000 }),
  ],
  [
    "no connection",
    () => {
      throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
    },
    githubError("GitHub could not be reached: ECONNREFUSED", { status: undefined, retryAfterMs: undefined }),
  ],
  [
    "a response over the maximum size",
    () => new Response("x".repeat(1024 * 1024 + 1)),
    githubError(`GitHub answered more than ${1024 * 1024} bytes`),
  ],
])("%s is a failure", async (_, respond, expected) => {
  await expect(createApp({ respond }).send("app")).rejects.toEqual(expected);
});

test("a response of the maximum size is returned", async () => {
  const text = "x".repeat(1024 * 1024);
  expect((await createApp({ respond: () => new Response(text) }).send("app")).text).toBe(text);
});

test("JSON is parsed, and other text is undefined", () => {
  expect(parseJson("[1]")).toEqual([1]);
  expect(parseJson("{")).toBeUndefined();
});
