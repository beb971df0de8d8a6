/** One fetch over endpoints. */
import { IttyRouter } from "itty-router";
import type { HttpDeps } from "./deps.ts";
import { answering, type Endpoint, type Handler, methodNotAllowed, methodsOf } from "./endpoint.ts";
import { AppError } from "../kit/errors.ts";

/** How endpoints are mounted. */
export interface RouteOptions {
  /** What stands before every path, as `/governance`; nothing by default. */
  base?: string | undefined;
}

/**
 * Routes by path and method: 404 for an unknown path, 405 with `Allow` for a known one, then the endpoint's own checks. A
 * GET answers HEAD too. Errors: `TypeError` when `base` is no path.
 */
export function routed<D extends HttpDeps>(
  endpoints: readonly Endpoint<D>[],
  deps: D,
  { base = "" }: RouteOptions = {},
): Handler {
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(base))
    throw new TypeError(`base must be a path such as /governance, without a slash at its end, not ${base}`);
  const refused = (request: Request, error: AppError) => answering(deps, request, () => Promise.reject(error));
  const router = IttyRouter({ base });
  for (const path of new Set(endpoints.map(({ path }) => path))) {
    const handlers = new Map<string, Handler>();
    for (const endpoint of endpoints.filter((one) => one.path === path)) {
      const handler = endpoint(deps);
      for (const method of methodsOf(endpoint)) handlers.set(method, handler);
    }
    router.all(
      path,
      (request) => handlers.get(request.method)?.(request) ?? refused(request, methodNotAllowed([...handlers.keys()])),
    );
  }
  return async (request) =>
    ((await router.fetch(request)) as Response | undefined) ??
    refused(request, new AppError("not_found", `there is nothing at ${new URL(request.url).pathname}`));
}
