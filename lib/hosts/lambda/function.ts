/** Lambda functions: a handler for some endpoints, composed once for each instance. */
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
 * Creates a Lambda handler for the endpoints that `modules` export; with `group`, for those of the group. It is composed from
 * `process.env` at the first request; after a failure the next request tries again.
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

  // /readyz may write, to prove that writes work.
  const readsOnly = access !== "write" && !endpoints.some(({ path }) => path === "/readyz");

  const getService = refreshAfterTtl(env, async () => {
    const deps = { ...(await composeLambda(env, access, log, parts)), readsOnly };
    return { fetch: createRouter(endpoints, deps), openStore: once(() => openTable(deps, access)) };
  });
  const openHandler = async (request: Request): Promise<Handler> => {
    const { fetch, openStore } = await getService();
    if (!storelessPaths.has(new URL(request.url).pathname)) await openStore();
    return fetch;
  };
  const handler = lambdaHandler({ open: openHandler, log, basePath: readBasePath(env) });
  return async (event, context) => {
    log.begin(context);
    const result = await handler(event, context);
    await log.flush();
    return result;
  };
}

const widestAccess = (accesses: readonly Access[]): Access =>
  (["write", "read"] as const).find((access) => accesses.includes(access)) ?? "none";
