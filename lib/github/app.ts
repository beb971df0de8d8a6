/** A GitHub App: its tokens, and requests to the API of GitHub. Requests go to one address and follow no redirect. */
import { SignJWT } from "jose/jwt/sign";
import { importPKCS8 } from "jose/key/import";
import * as z from "zod";
import type { Fetch } from "../identity/fetch_keys.ts";
import { readCappedText } from "../kit/capped_text.ts";
import { describeCause } from "../kit/fetch_failure.ts";
import { once } from "../kit/once.ts";
import type { Clock } from "../kit/platform.ts";
import { readRetryDelay } from "../kit/retry_delay.ts";
import { runUntilStopped, Unanswered } from "../kit/time_limit.ts";

/** Settings of an App. */
export interface GithubAppSettings {
  app_id: number;
  /** RSA key as PKCS#8 PEM. */
  key: string;
  /** Address without a slash at its end, such as `https://api.github.com`. */
  api: string;
}

/** A repository, and the installation of the App that covers it. */
export interface Installation {
  installation_id: number;
  repository_id: number;
}

export interface GithubRequest {
  method: "GET" | "POST";
  /** Path and query, below the address of the API. */
  path: string;
  body?: object | undefined;
  /** Sender: the App itself, or its installation for one repository. */
  as: "app" | Installation;
  /** Cancels the request. */
  canceled?: AbortSignal | undefined;
}

/** GitHub did not answer with success; the message holds no secret. */
export class GithubFailed extends Error {
  override readonly name = "GithubFailed";
  /** Absent if there was no answer. */
  readonly status: number | undefined;
  /** The pause that GitHub requests. */
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    { status, retryAfterMs }: { status?: number | undefined; retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A successful answer. */
export interface GithubAnswer {
  text: string;
  headers: Headers;
}

/** The API as an App uses it. */
export interface GithubApp {
  api: string;
  /** Fetches the token of an installation unless it is cached. Errors: `GithubFailed`. */
  authorize(installed: Installation, canceled?: AbortSignal): Promise<void>;
  /** Sends a request once. Errors: `GithubFailed`. */
  send(request: GithubRequest): Promise<GithubAnswer>;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Life of the App's own token, and how far GitHub's clock may be behind; seconds. GitHub accepts at most 600 together. */
const JWT_LIFE_S = 540;
const CLOCK_SKEW_S = 60;
/** A token of an installation is replaced when it expires within this time. */
const TOKEN_MARGIN_MS = 5 * 60_000;
const MAX_TOKENS = 1_000;

const tokenSchema = once(() =>
  z.object({ token: z.string().regex(/^[\x21-\x7e]{1,2000}$/), expires_at: z.iso.datetime({ offset: true }) }),
);

/** A token of an installation, or the pending request for one. */
interface CachedToken {
  token: Promise<string>;
  /** Milliseconds since the epoch; `Infinity` while it is requested. */
  until: number;
}

/** Creates the client of an App; tokens are cached in it. */
export function githubApp(
  { app_id, key, api }: GithubAppSettings,
  {
    clock,
    fetch: send = (url, init) => fetch(url, init),
    timeout = TIMEOUT_MS,
  }: {
    clock: Pick<Clock, "now">;
    fetch?: Fetch | undefined;
    /** How long an answer may take; milliseconds. */
    timeout?: number | undefined;
  },
): GithubApp {
  const signingKey = once(() => importPKCS8(key, "RS256"));
  const tokens = new Map<string, CachedToken>();

  const signJwt = async (): Promise<string> => {
    const now = Math.floor(clock.now() / 1000);
    return new SignJWT({})
      .setProtectedHeader({ alg: "RS256", typ: "JWT" })
      .setIssuer(String(app_id))
      .setIssuedAt(now - CLOCK_SKEW_S)
      .setExpirationTime(now + JWT_LIFE_S)
      .sign(await signingKey());
  };

  const sendAs = async (
    bearer: string,
    { method, path, body, canceled }: Omit<GithubRequest, "as">,
  ): Promise<GithubAnswer> => {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${bearer}`,
      "user-agent": "countersign",
      "x-github-api-version": "2022-11-28",
      ...(body && { "content-type": "application/json" }),
    };
    const init: RequestInit = { method, headers, redirect: "manual", ...(body && { body: JSON.stringify(body) }) };
    const attempt = async (signal: AbortSignal): Promise<GithubAnswer> => {
      const response = await send(api + path, { ...init, signal });
      const text = await readCappedText(response, MAX_ANSWER_BYTES);
      const { status } = response;
      if (!response.ok)
        throw new GithubFailed(`GitHub answered ${status}`, {
          status,
          retryAfterMs: readRetryDelay(response, clock.now()),
        });
      if (text === undefined) throw new GithubFailed(`GitHub answered more than ${MAX_ANSWER_BYTES} bytes`);
      return { text, headers: response.headers };
    };
    try {
      return await runUntilStopped(canceled, attempt, timeout);
    } catch (error) {
      if (error instanceof GithubFailed) throw error;
      throw new GithubFailed(
        error instanceof Unanswered
          ? `GitHub did not answer within ${timeout / 1000} s`
          : `GitHub could not be reached: ${describeCause(error)}`,
      );
    }
  };

  const requestToken = async (
    { installation_id, repository_id }: Installation,
    canceled: AbortSignal | undefined,
  ): Promise<{ token: string; until: number }> => {
    const { text } = await sendAs(await signJwt(), {
      method: "POST",
      path: `/app/installations/${installation_id}/access_tokens`,
      body: { repository_ids: [repository_id], permissions: { deployments: "write" } },
      canceled,
    });
    const { data } = tokenSchema().safeParse(parseJson(text));
    if (!data) throw new GithubFailed("GitHub answered something other than an installation token");
    return { token: data.token, until: Date.parse(data.expires_at) - TOKEN_MARGIN_MS };
  };

  const getToken = (installed: Installation, canceled: AbortSignal | undefined): Promise<string> => {
    const id = tokenKey(installed);
    const existing = tokens.get(id);
    if (existing && existing.until > clock.now()) return existing.token;
    const requested = requestToken(installed, canceled);
    const cached: CachedToken = { token: requested.then(({ token }) => token), until: Infinity };
    // A map lists its keys in the order of their insertion, so the first token is the oldest.
    tokens.delete(id);
    if (tokens.size >= MAX_TOKENS) tokens.delete(tokens.keys().next().value!);
    tokens.set(id, cached);
    requested.then(
      ({ until }) => (cached.until = until),
      () => tokens.get(id) === cached && tokens.delete(id),
    );
    return cached.token;
  };

  return {
    api,
    authorize: async (installed, canceled) => void (await getToken(installed, canceled)),
    async send({ as, ...request }) {
      if (as === "app") return sendAs(await signJwt(), request);
      const token = await getToken(as, request.canceled);
      try {
        return await sendAs(token, request);
      } catch (error) {
        // The token was revoked: the next attempt requests another.
        if (error instanceof GithubFailed && error.status === 401) tokens.delete(tokenKey(as));
        throw error;
      }
    },
  };
}

const tokenKey = ({ installation_id, repository_id }: Installation): string => `${installation_id} ${repository_id}`;

/** Parses JSON; undefined for text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
