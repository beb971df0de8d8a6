/**
 * Evaluations of flags that carry a context and nothing else, answered without the checks that they pass anyway: what judges a
 * request looks at its headers, so one whose headers say nothing is admitted where another such one was. Its answer is made by
 * the code of the handler; whatever is unusual is left to the handler, with its body.
 */
import type { IncomingMessage } from "node:http";
import type { Deps } from "../lib/deps.ts";
import type { Answer } from "../lib/http/answer.ts";
import { answerRequest, type ErrorFormat } from "../lib/http/endpoint.ts";
import { parseJsonObject } from "../lib/http/form.ts";
import { answerFlag, answerFlags, bulkErrorFormat, FLAG_PATH, flagErrorFormat, FLAGS_PATH } from "../lib/http/ofrep.ts";
import type { Context } from "../lib/http/ofrep_schemas.ts";
import type { ObserveRequest } from "./request_metrics.ts";

/** Headers that no check and no handler of an evaluation reads. */
const SILENT = new Set(["accept", "accept-encoding", "accept-language", "connection", "content-type", "user-agent"]);

/** Longer bodies, in bytes, are left to the handler. */
const MAX_LENGTH = 8192;

/** Printable ASCII without escapes, and no member that an object has by itself. */
const PLAIN_TEXT = /^(?![^]*__proto__)[\t\n\r -[\]-~]+$/;

const ONE_FLAG = `${FLAGS_PATH}/`;

const NO_HEADERS = { get: () => null };

/** Matches a path in which no segment begins with a dot or is encoded: most are. */
export const PLAIN_PATH = /^(?:\/[\w-][\w.:-]*)+$/;

/** One of the two endpoints. */
interface Route {
  answer: (key: string, context: Context | undefined, request: Request) => Promise<Answer>;
  refuse: ErrorFormat["format"];
  observe: ObserveRequest;
  /** The host, and the rules, of the last plain request that was answered with a value. */
  admitted?: { host: string; product: unknown };
}

/** Answers plain evaluations. */
export interface PlainEvaluations {
  /** Resolves with the answer; undefined where a handler is to answer. */
  answer(req: IncomingMessage): Promise<Response | undefined> | undefined;
  /** Notes that a handler answered a request with this status: a plain one with 200 admits others. */
  learn(req: IncomingMessage, status: number): void;
}

/** Answers plain evaluations of a service; `observe` makes the observer of a route. */
export function plainEvaluations(deps: Deps, observe: (route: string) => ObserveRequest): PlainEvaluations {
  const all: Route = {
    answer: (_, context, request) => answerFlags({ context }, { deps, request }),
    refuse: bulkErrorFormat.format,
    observe: observe(FLAGS_PATH),
  };
  const one: Route = {
    answer: (key, context) => answerFlag({ key, context }, { deps }),
    refuse: flagErrorFormat.format,
    observe: observe(FLAG_PATH),
  };
  /** The endpoint that a plain request goes to; the server has checked that its path is one. */
  const routeOf = (req: IncomingMessage): Route | undefined => {
    const { method, url = "", rawHeaders } = req;
    if (method !== "POST" || !url.startsWith(FLAGS_PATH) || !PLAIN_PATH.test(url)) return undefined;
    return isSilent(rawHeaders) ? (url === FLAGS_PATH ? all : url.startsWith(ONE_FLAG) ? one : undefined) : undefined;
  };
  return {
    answer(req) {
      const route = routeOf(req);
      const { admitted } = route ?? {};
      if (!admitted || admitted.host !== req.headers.host || admitted.product !== deps.product) return undefined;
      return answerPlain(deps, route!, req);
    },
    learn(req, status) {
      // A header that names people may be any of them.
      const mayAdmit = status === 200 && !deps.identityHeader && !deps.identityToken;
      const route = mayAdmit ? routeOf(req) : undefined;
      if (route) route.admitted = { host: req.headers.host!, product: deps.product };
    },
  };
}

/** True for one host, one length and nothing that is read. */
function isSilent(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  let lengths = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (name === "host") hosts++;
    else if (name === "content-length") lengths++;
    else if (!SILENT.has(name)) return false;
  }
  return hosts === 1 && lengths === 1;
}

async function answerPlain(deps: Deps, route: Route, req: IncomingMessage): Promise<Response | undefined> {
  const began = performance.now();
  if (!(Number(req.headers["content-length"]) <= MAX_LENGTH)) return undefined;
  const body = await readBody(req);
  const fields = body && readPlainFields(body);
  if (!fields) return undefined;
  const url = `http://${req.headers.host}${req.url}`;
  const request = { method: "POST", url, headers: NO_HEADERS } as unknown as Request;
  const key = req.url!.slice(ONE_FLAG.length);
  const response = await answerRequest(deps, request, () => route.answer(key, fields.context, request), route.refuse);
  route.observe("POST", response.status, (performance.now() - began) / 1000);
  return response;
}

/** Reads a body; a handler that is to answer finds it in `rawBody`. Undefined where the client has gone. */
function readBody(req: IncomingMessage & { rawBody?: Buffer }): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    req.on("data", (piece: Buffer) => pieces.push(piece));
    req.once("end", () => resolve((req.rawBody = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))));
    req.once("close", () => resolve(undefined));
  });
}

/** Returns the fields of a body that a handler takes as they are. */
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
