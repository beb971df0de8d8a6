/** Routes requests to endpoints. */
import { IttyRouter } from "itty-router";
import { rejectRequest } from "./admission.ts";
import type { HttpDeps } from "./deps.ts";
import { answerRequest, type Endpoint, type Handler, methodNotAllowed, listMethods } from "./endpoint.ts";
import { AppError } from "../kit/errors.ts";
import { findNearest, isMisspelling } from "../kit/nearest.ts";
import { requestPath } from "./path.ts";

/** Location of the endpoints. */
export interface RouteOptions {
  /** Prefix of every path, such as `/governance`; empty by default. */
  base?: string | undefined;
}

/**
 * Routes by path and method: 404 for an unknown path, 405 with `Allow` for a known one, then the endpoint's own checks. An
 * endpoint for GET answers HEAD too. Errors: `TypeError` when `base` is no path.
 */
export function createRouter<D extends HttpDeps>(
  endpoints: readonly Endpoint<D>[],
  deps: D,
  { base = "" }: RouteOptions = {},
): Handler {
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(base))
    throw new TypeError(`base must be a path such as /governance, without a slash at its end, not ${base}`);
  const { measure = (handler: Handler) => handler } = deps;
  const reject = (request: Request, error: AppError) =>
    answerRequest(deps, request, () => rejectRequest(request, deps, error));
  const router = IttyRouter({ base });
  /** By path, without the parameter at its end. Most requests are found here; the router tries one pattern after another. */
  const handlerByPath = new Map<string, Handler>();
  const endpointsByPath = new Map<string, Endpoint<D>[]>();
  for (const endpoint of endpoints)
    endpointsByPath.set(endpoint.path, [...(endpointsByPath.get(endpoint.path) ?? []), endpoint]);
  for (const [path, pathEndpoints] of endpointsByPath) {
    const handlers = new Map<string, Handler>();
    for (const endpoint of pathEndpoints) {
      const handler = endpoint(deps);
      for (const method of listMethods(endpoint)) handlers.set(method, handler);
    }
    const dispatch = measure(
      (request) => handlers.get(request.method)?.(request) ?? reject(request, methodNotAllowed([...handlers.keys()])),
      path,
    );
    handlerByPath.set(base + path.replace(/:\w+$/, ""), dispatch);
    // `+` lets the parameter extend over the rest of the path.
    router.all(pathEndpoints.some(({ rest }) => rest) ? `${path}+` : path, dispatch);
  }
  const notFound = measure((request) => {
    const path = requestPath(request);
    const nearest = findNearestPath(
      path,
      [...endpointsByPath.keys()].map((known) => base + known),
    );
    const message = `there is nothing at ${path}${nearest ? `: did you mean ${nearest}?` : ""}`;
    return reject(
      request,
      new AppError("not_found", endpointsByPath.has("/docs") ? `${message}; see ${base}/docs` : message),
    );
  }, "other");
  // A path with `/` at its end goes to the router: here it would find an endpoint whose parameter is missing.
  const findDispatch = (path: string): Handler | undefined =>
    path.endsWith("/")
      ? undefined
      : (handlerByPath.get(path) ?? handlerByPath.get(path.slice(0, path.lastIndexOf("/") + 1)));
  const search = async (request: Request): Promise<Response> =>
    ((await router.fetch(request)) as Response | undefined) ?? notFound(request);
  return (request) => (findDispatch(requestPath(request)) ?? search)(request);
}

/** Returns the known path with the same last part, else the one that was probably misspelt. */
function findNearestPath(path: string, known: readonly string[]): string | undefined {
  const last = path.slice(path.lastIndexOf("/"));
  return (
    known.find((other) => other.replace(/\/:\w+$/, "").endsWith(last)) ??
    (isMisspelling(path, known) ? findNearest(path, known) : undefined)
  );
}
