/** Functions: endpoints as a Lambda handler that is composed once for each instance. */
import type { Deps } from "../../deps.ts";
import type { Endpoint, Handler } from "../../http/endpoint.ts";
import { createRouter } from "../../http/router.ts";
import { once } from "../../kit/once.ts";
import { readBasePath } from "./environment.ts";
import { type Access, tableAccess, type Group, functionGroup } from "./groups.ts";
import { type LambdaHandler, lambdaHandler } from "./handler.ts";
import { lambdaLog } from "./log.ts";
import { composeLambda, openTable, type Parts, refreshAfterTtl } from "./open.ts";

/** Exports of a file of handlers. */
type Module = Record<string, unknown>;

const isEndpoint = (value: unknown): value is Endpoint<Deps> => typeof value === "function" && "path" in value;

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
    .filter((endpoint) => group === undefined || functionGroup(endpoint) === group);
  const { env } = process;
  const log = lambdaLog();
  const access = widestAccess(endpoints.map(tableAccess));
  const storelessPaths = new Set(
    endpoints.filter((endpoint) => tableAccess(endpoint) === "none").map(({ path }) => path),
  );

  // The function that answers /readyz reads, and may write to prove that writes are taken.
  const readsOnly = access !== "write" && !endpoints.some(({ path }) => path === "/readyz");

  const composed = refreshAfterTtl(env, async () => {
    const deps = { ...(await composeLambda(env, access, log, parts)), readsOnly };
    return { fetch: createRouter(endpoints, deps), opened: once(() => openTable(deps, access)) };
  });
  const open = async (request: Request): Promise<Handler> => {
    const { fetch, opened } = await composed();
    if (!storelessPaths.has(new URL(request.url).pathname)) await opened();
    return fetch;
  };
  const handler = lambdaHandler({ open, log, basePath: readBasePath(env) });
  return async (event, context) => {
    log.begin(context);
    const result = await handler(event, context);
    await log.written();
    return result;
  };
}

const widestAccess = (access: readonly Access[]): Access =>
  access.includes("write") ? "write" : access.includes("read") ? "read" : "none";
