/**
 * A stub of GitHub: deliveries of an App's webhook, installation tokens and decisions on deployments. A test decides which
 * requests fail.
 */
import { createHmac, generateKeyPairSync } from "node:crypto";
import { decodeJwt, jwtVerify } from "jose";
import { githubApp } from "../../lib/github/app.ts";
import { once } from "../../lib/kit/once.ts";
import type { TestClock } from "./clock.ts";
import { DAY, HOUR } from "./clock.ts";

export const API = "https://api.github.com";
export const HOOK_SECRET = "a-webhook-secret-of-tests";
const APP_ID = 12345;
const INSTALLATION = 77;
/** An address that must never receive a request. */
export const FOREIGN_URL = "https://evil.example/repos/x";

const keys = once(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
export const appKeyPem = (type: "pkcs1" | "pkcs8" = "pkcs8"): string =>
  keys().privateKey.export({ type, format: "pem" }) as string;

/** A fault of a request; after faults whose name ends with `_after`, GitHub has carried out the request. */
export type Fault =
  | "unreachable"
  | "silent"
  | "redirect"
  | "moved"
  | "limited"
  | "forbidden"
  | "absent"
  | "broken"
  | "broken_after"
  | "lost_after";

/** A job that waits for an environment. */
export interface Deployment {
  id: number;
  run_id: number;
  repository_id: number;
  environment: string;
  sha: string;
  state: "waiting" | "approved" | "rejected";
  comments: string[];
  at: number;
}

/** A delivery as GitHub lists it. */
interface Delivery {
  id: number;
  guid: string;
  body: string;
  delivered_at: number;
  /** The status of the hook's response; 504 without a hook. */
  status_code: number;
}

type Hook = (request: Request) => Promise<Response>;

export class GithubStub {
  readonly deployments: Deployment[] = [];
  readonly deliveries: Delivery[] = [];
  /** Requested addresses outside of the API, and paths that GitHub does not have. */
  readonly unexpectedUrls: string[] = [];
  readonly requests: { path: string; body: string }[] = [];
  /** Returns the fault of a request to this path. */
  fault: (path: string) => Fault | undefined = () => undefined;
  /** Called with each deployment that is approved, before the response is sent. */
  onApproved: (deployment: Deployment) => Promise<void> | void = () => undefined;
  private readonly tokens = new Map<string, { repository_id: number; until: number }>();
  /** JWTs of the App that were verified once; they are not verified again. */
  private readonly verified = new Set<string>();

  constructor(readonly clock: TestClock) {}

  /** Returns the release gate to configure a service with; `timeout` limits a request, in milliseconds of the real clock. */
  gate(name = "deploys", tenant_id = "t1", timeout = 500) {
    const app = githubApp(
      { app_id: APP_ID, key: appKeyPem(), api: API },
      { clock: this.clock, fetch: this.fetch, timeout },
    );
    return { name, tenant_id, secret: HOOK_SECRET, app };
  }

  /** Adds a deployment that waits for approval. */
  deploy(fields: Pick<Deployment, "repository_id" | "environment" | "sha"> & { run_id?: number }): Deployment {
    const id = 1000 + this.deployments.length;
    const deployment: Deployment = {
      id,
      run_id: 9000 + id,
      state: "waiting",
      comments: [],
      at: this.clock.now(),
      ...fields,
    };
    this.deployments.push(deployment);
    return deployment;
  }

  /** Returns the payload of the delivery that requests a decision on a deployment. */
  body({ id, run_id, repository_id, environment, sha }: Deployment): object {
    const full_name = repositoryName(repository_id);
    return {
      action: "requested",
      environment,
      event: "push",
      sha,
      ref: "refs/heads/main",
      deployment_callback_url: `${API}/repos/${full_name}/actions/runs/${run_id}/deployment_protection_rule`,
      deployment: { id, sha, ref: "main", task: "deploy", payload: {}, environment, creator: { login: "dev" } },
      pull_requests: [],
      repository: { id: repository_id, full_name, private: true, owner: { login: "acme" } },
      organization: { login: "acme", id: 1 },
      installation: { id: INSTALLATION },
      sender: { login: "dev", id: 7 },
    };
  }

  /** Sends a delivery to the hook; without a hook the delivery is lost. */
  async deliver(text: string, hook: Hook | undefined, guid = `guid-${this.deliveries.length}`): Promise<number> {
    const delivery: Delivery = {
      id: 5000 + this.deliveries.length,
      guid,
      body: text,
      delivered_at: this.clock.now(),
      status_code: 504,
    };
    this.deliveries.push(delivery);
    if (hook) delivery.status_code = (await hook(hookRequest(text, { guid }))).status;
    return delivery.status_code;
  }

  /** Sends the delivery that requests a decision on a deployment. */
  request(deployment: Deployment, hook: Hook | undefined): Promise<number> {
    return this.deliver(JSON.stringify(this.body(deployment)), hook);
  }

  /** Deliveries that the service has requested again. */
  readonly redeliveries: Delivery[] = [];
  /** Sends these deliveries again, each with its former `guid`. */
  async redeliver(hook: Hook): Promise<void> {
    for (const { body, guid } of this.redeliveries.splice(0)) await this.deliver(body, hook, guid);
  }

  fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { signal } = init;
    signal?.throwIfAborted();
    if (!url.startsWith(`${API}/`)) {
      this.unexpectedUrls.push(url);
      return new Response(null, { status: 204 });
    }
    const path = url.slice(API.length);
    this.requests.push({ path, body: String(init.body ?? "") });
    const fault = this.fault(path);
    if (fault === "unreachable") throw new TypeError("fetch failed");
    if (fault === "silent")
      return new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError"))),
      );
    if (fault === "redirect" || fault === "moved") {
      const location = fault === "redirect" ? FOREIGN_URL : `${API}/repositories/42/moved`;
      if (init.redirect !== "manual") return this.fetch(location, init);
      return new Response(null, { status: 307, headers: { location } });
    }
    if (fault === "limited") return new Response("{}", { status: 429, headers: { "retry-after": "90" } });
    if (fault === "forbidden") return new Response("{}", { status: 403 });
    if (fault === "absent") return new Response("{}", { status: 404 });
    if (fault === "broken") return new Response("{}", { status: 502 });
    const response = await this.answer(path, init);
    if (fault === "broken_after") return new Response("{}", { status: 500 });
    if (fault === "lost_after") throw new TypeError("other side closed");
    return response;
  };

  private async answer(path: string, { method, headers, body }: RequestInit): Promise<Response> {
    const bearer = new Headers(headers).get("authorization")?.replace(/^Bearer /, "") ?? "";
    const sent = body === undefined || body === null ? {} : JSON.parse(String(body));
    const installation = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path);
    if (method === "POST" && installation) {
      await this.verifyApp(bearer);
      const [repository_id] = sent.repository_ids;
      if (Number(installation[1]) !== INSTALLATION) return new Response("{}", { status: 404 });
      if (JSON.stringify(sent.permissions) !== '{"deployments":"write"}') return new Response("{}", { status: 422 });
      const token = `ghs_${this.tokens.size}_${"x".repeat(60)}`;
      const until = this.clock.now() + HOUR;
      this.tokens.set(token, { repository_id, until });
      return Response.json({ token, expires_at: new Date(until).toISOString(), permissions: {} }, { status: 201 });
    }
    const run = /^\/repos\/(acme\/[\w-]+)\/actions\/runs\/(\d+)\/deployment_protection_rule$/.exec(path);
    if (method === "POST" && run) return this.decide(run[1]!, Number(run[2]), bearer, sent);
    const redelivery = /^\/app\/hook\/deliveries\/(\d+)\/attempts$/.exec(path);
    if (method === "POST" && redelivery) {
      await this.verifyApp(bearer);
      const delivery = this.deliveries.find(({ id }) => id === Number(redelivery[1]));
      // GitHub repeats deliveries of the last three days.
      if (!delivery || this.clock.now() - delivery.delivered_at > 3 * DAY) return new Response("{}", { status: 422 });
      this.redeliveries.push(delivery);
      return new Response("{}", { status: 202 });
    }
    if (method === "GET" && path.startsWith("/app/hook/deliveries?")) {
      await this.verifyApp(bearer);
      return this.page(new URL(API + path));
    }
    this.unexpectedUrls.push(path);
    return new Response("{}", { status: 404 });
  }

  private async decide(
    repository: string,
    run_id: number,
    bearer: string,
    sent: { environment_name?: string; state?: string; comment?: string },
  ): Promise<Response> {
    const token = this.tokens.get(bearer);
    if (!token || token.until <= this.clock.now()) return new Response("{}", { status: 401 });
    if (repositoryName(token.repository_id) !== repository) return new Response("{}", { status: 403 });
    const { environment_name, state, comment = "" } = sent;
    const isKnownState = state === undefined || state === "approved" || state === "rejected";
    const deployment = this.deployments.findLast(
      (candidate) =>
        candidate.run_id === run_id &&
        candidate.environment === environment_name &&
        repositoryName(candidate.repository_id) === repository,
    );
    if (!deployment) return new Response("{}", { status: 404 });
    // GitHub's limits: 1,024 characters a comment, and ten comments on a deployment.
    if (!isKnownState || comment.length > 1024 || deployment.state !== "waiting")
      return new Response("{}", { status: 422 });
    if (deployment.comments.length >= 10) return new Response("{}", { status: 422 });
    deployment.comments.push(comment);
    if (state === "approved") await this.onApproved(deployment);
    if (state !== undefined) deployment.state = state as "approved" | "rejected";
    return new Response(null, { status: 204 });
  }

  private page(url: URL): Response {
    const size = Number(url.searchParams.get("per_page"));
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const all = this.deliveries.toReversed();
    const page = all.slice(from, from + size).map(({ delivered_at, body, ...rest }) => ({
      ...rest,
      delivered_at: new Date(delivered_at).toISOString(),
      event: "deployment_protection_rule",
      action: (JSON.parse(body) as { action: string }).action,
    }));
    // The client must not follow the host of this link.
    const link = `<${FOREIGN_URL}?per_page=${size}&cursor=${from + size}>; rel="next"`;
    return Response.json(page, { headers: from + size < all.length ? { link } : {} });
  }

  private async verifyApp(jwt: string): Promise<void> {
    const currentDate = new Date(this.clock.now());
    if (this.verified.has(jwt)) return;
    await jwtVerify(jwt, keys().publicKey, { algorithms: ["RS256"], issuer: String(APP_ID), currentDate });
    const { iat = Infinity, exp = Infinity } = decodeJwt(jwt);
    // GitHub accepts a JWT that expires within the next ten minutes.
    if (iat > this.clock.now() / 1000 || exp > this.clock.now() / 1000 + 600)
      throw new Error("the JWT is valid for too long");
    this.verified.add(jwt);
  }
}

const repositoryName = (repository_id: number): string => `acme/repo-${repository_id}`;

/** Returns the header `x-hub-signature-256` of a body. */
export const sign = (text: string, secret = HOOK_SECRET): string =>
  `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`;

/** Returns the HTTP request of a delivery. */
export function hookRequest(
  text: string,
  {
    guid = "guid",
    signature = sign(text),
    event = "deployment_protection_rule",
  }: { guid?: string; signature?: string | null; event?: string } = {},
): Request {
  return new Request("http://localhost/api/gate/github", {
    method: "POST",
    body: text,
    headers: {
      "content-type": "application/json",
      "user-agent": "GitHub-Hookshot/1",
      "x-github-event": event,
      "x-github-delivery": guid,
      ...(signature !== null && { "x-hub-signature-256": signature }),
    },
  });
}
