/**
 * Answers plain flag evaluations faster. A plain evaluation has only headers that no access check reads, and a body with only a
 * context. Once the complete handler has answered one with 200, later ones pass the same checks, which are then skipped. Answers
 * come from the handler's own code, and every other request goes to the handler.
 */
import type { IncomingMessage } from "node:http";
import type { Deps } from "../lib/deps.ts";
import type { Answer } from "../lib/http/answer.ts";
import { answerRequest, type ErrorFormat } from "../lib/http/endpoint.ts";
import { parseJsonObject } from "../lib/http/form.ts";
import { answerFlag, answerFlags, bulkErrorFormat, FLAG_PATH, flagErrorFormat, FLAGS_PATH } from "../lib/http/ofrep.ts";
import type { Context } from "../lib/http/ofrep_schemas.ts";
import type { ObserveRequest } from "./request_metrics.ts";

/** Headers that no access check and no handler of an evaluation reads. */
const IGNORED_HEADERS = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "connection",
  "content-type",
  "user-agent",
]);

/** Longer bodies go to the handler. */
const MAX_BODY_BYTES = 8192;

/** Printable ASCII without backslashes and `__proto__`: no escapes to decode. */
const PLAIN_TEXT = /^(?![^]*__proto__)[\t\n\r -[\]-~]+$/;

const FLAG_PREFIX = `${FLAGS_PATH}/`;

const NO_HEADERS = { get: () => null };

/** Matches a path in which no segment begins with a dot or has an encoded character. */
export const PLAIN_PATH = /^(?:\/[\w-][\w.:-]*)+$/;

/** One of the two endpoints, for all flags and for one flag. */
interface Route {
  answer: (key: string, context: Context | undefined, request: Request) => Promise<Answer>;
  formatError: ErrorFormat["format"];
  observe: ObserveRequest;
  /** Host and product of the last plain request that the handler answered with 200. */
  admitted?: { host: string; product: unknown };
}

/** Answers plain evaluations. */
export interface PlainEvaluations {
  /** Resolves with the answer; undefined where the handler must answer. */
  answer(req: IncomingMessage): Promise<Response | undefined> | undefined;
  /** Records the status of the handler's answer: a plain request with 200 admits later ones. */
  recordStatus(req: IncomingMessage, status: number): void;
}

/** Creates the answering of plain evaluations; `observe` creates the observer of a route. */
export function plainEvaluations(deps: Deps, observe: (route: string) => ObserveRequest): PlainEvaluations {
  const allFlagsRoute: Route = {
    answer: (_, context, request) => answerFlags({ context }, { deps, request }),
    formatError: bulkErrorFormat.format,
    observe: observe(FLAGS_PATH),
  };
  const flagRoute: Route = {
    answer: (key, context) => answerFlag({ key, context }, { deps }),
    formatError: flagErrorFormat.format,
    observe: observe(FLAG_PATH),
  };
  /** Returns the endpoint of a request with plain headers; undefined for any other request. */
  const findRoute = (req: IncomingMessage): Route | undefined => {
    const { method, url = "", rawHeaders } = req;
    if (method !== "POST" || !url.startsWith(FLAGS_PATH) || !PLAIN_PATH.test(url)) return undefined;
    if (!hasOnlyIgnoredHeaders(rawHeaders)) return undefined;
    if (url === FLAGS_PATH) return allFlagsRoute;
    return url.startsWith(FLAG_PREFIX) ? flagRoute : undefined;
  };
  return {
    answer(req) {
      const route = findRoute(req);
      const { admitted } = route ?? {};
      if (!admitted || admitted.host !== req.headers.host || admitted.product !== deps.product) return undefined;
      return answerPlain(deps, route!, req);
    },
    recordStatus(req, status) {
      // With a header that names people, headers decide about access.
      const canAdmit = status === 200 && !deps.identityHeader && !deps.identityToken;
      const route = canAdmit ? findRoute(req) : undefined;
      if (route) route.admitted = { host: req.headers.host!, product: deps.product };
    },
  };
}

/** Checks that headers are one host, one length, and others that no check reads. */
function hasOnlyIgnoredHeaders(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  let lengths = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (name === "host") hosts++;
    else if (name === "content-length") lengths++;
    else if (!IGNORED_HEADERS.has(name)) return false;
  }
  return hosts === 1 && lengths === 1;
}

async function answerPlain(deps: Deps, route: Route, req: IncomingMessage): Promise<Response | undefined> {
  const began = performance.now();
  if (!(Number(req.headers["content-length"]) <= MAX_BODY_BYTES)) return undefined;
  const body = await readBody(req);
  const fields = body && readPlainFields(body);
  if (!fields) return undefined;
  const url = `http://${req.headers.host}${req.url}`;
  const request = { method: "POST", url, headers: NO_HEADERS } as unknown as Request;
  const key = req.url!.slice(FLAG_PREFIX.length);
  const response = await answerRequest(
    deps,
    request,
    () => route.answer(key, fields.context, request),
    route.formatError,
  );
  route.observe("POST", response.status, (performance.now() - began) / 1000);
  return response;
}

/** Reads a body, and leaves it in `rawBody` for the handler. Undefined where the client has disconnected. */
function readBody(req: IncomingMessage & { rawBody?: Buffer }): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.once("end", () => resolve((req.rawBody = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))));
    req.once("close", () => resolve(undefined));
  });
}

/** Returns the fields of a body if the handler would use them unchanged. */
function readPlainFields(body: Buffer): { context?: Context } | undefined {
  const text = body.toString("latin1");
  if (!PLAIN_TEXT.test(text)) return undefined;
  try {
    const { context, ...others } = parseJsonObject(text) as { context?: Context };
    if (Object.keys(others).length > 0 || typeof context !== "object" || context === null || Array.isArray(context))
      return undefined;
    return ["string", "undefined"].includes(typeof context.targetingKey) ? { context } : undefined;
  } catch {
    return undefined;
  }
}
