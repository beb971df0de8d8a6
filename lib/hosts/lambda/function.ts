/** Functions: endpoints as a Lambda handler that is composed once for each instance. */
import type { Endpoint, Handler } from "../../endpoint.ts";
import { type Access, accessOf, type Group, groupOf } from "./groups.ts";
import { type LambdaHandler, lambdaHandler } from "./handler.ts";
import { lambdaLog } from "./log.ts";
import { composeLambda, once, openTable, type Parts } from "./open.ts";
import { routed } from "../../routed.ts";

/** After so long an instance reads its secrets again, so that a token that was replaced does not live on in it. */
const SECRETS_KEPT_MS = 10 * 60_000;

/** What a file of handlers exports. */
type Module = Record<string, unknown>;

const isEndpoint = (value: unknown): value is Endpoint => typeof value === "function" && "path" in value;

/**
 * A Lambda handler over the endpoints that modules export; with `group`, over those of the group. It is composed from
 * `process.env` at the first request, and again at the next when that failed.
 */
export function lambdaFunction(
  modules: readonly Module[],
  { group, parts }: { group?: Group; parts?: Parts } = {},
): LambdaHandler {
  const endpoints = modules
    .flatMap((module) => Object.values(module))
    .filter(isEndpoint)
    .filter((endpoint) => group === undefined || groupOf(endpoint) === group);
  const { env } = process;
  const log = lambdaLog();
  const access = mostOf(endpoints.map(accessOf));
  const storeless = new Set(endpoints.filter((endpoint) => accessOf(endpoint) === "none").map(({ path }) => path));

  const compose = async (): Promise<Handler> => {
    const deps = await composeLambda({ env, access, log, parts });
    const fetch = routed(endpoints, deps);
    const opened = once(() => openTable(deps, access));
    return async (request) => {
      if (!storeless.has(new URL(request.url).pathname)) await opened();
      return fetch(request);
    };
  };

  let composed = once(compose);
  let readAt = Date.now();
  const open = (): Promise<Handler> => {
    if (env["SVC_SECRETS_ARN"] && Date.now() - readAt > SECRETS_KEPT_MS) {
      composed = once(compose);
      readAt = Date.now();
    }
    return composed();
  };
  const handler = lambdaHandler({ open, log, basePath: env["SVC_BASE_PATH"] });
  return async (event, context) => {
    log.begin(context);
    const result = await handler(event, context);
    await log.written();
    return result;
  };
}

const mostOf = (access: readonly Access[]): Access =>
  access.includes("write") ? "write" : access.includes("read") ? "read" : "none";
