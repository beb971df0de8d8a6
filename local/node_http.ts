/** Serves a fetch handler over HTTP with bounded headers, times and bodies, and stops without cutting answers off. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { NodeRequest } from "srvx/node";
import type { Deps } from "../lib/deps.ts";
import { parseTraceparent } from "../lib/kit/trace.ts";
import { yieldToEventLoop } from "../lib/kit/event_loop.ts";
import { refuseConnection, refuseRequest, type Refusal } from "./http_refusal.ts";
import { inFlight, type InFlight } from "./in_flight.ts";
import { PLAIN_PATH, type PlainEvaluations } from "./plain_evaluations.ts";
import { sendResponse } from "./send_response.ts";

/** Times in milliseconds, sizes in bytes. */
export interface HttpLimits {
  /** Receiving the headers, and a whole request; `checkInterval` is how often both are looked at. */
  headersTimeout: number;
  requestTimeout: number;
  checkInterval: number;
  /** A connection without traffic: between two requests, and within one whose answer is not being worked out. */
  keepAliveTimeout: number;
  idleTimeout: number;
  maxHeaderSize: number;
  /** The most that is ever buffered of a body, whatever a handler allows. */
  maxBodySize: number;
  /** Finishing what is in flight when stopping. */
  stopTimeout: number;
}

/** The limits of the local program. Kept-alive connections outlast those of common proxies, which reuse them. */
export const LIMITS: HttpLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  checkInterval: 1_000,
  keepAliveTimeout: 65_000,
  idleTimeout: 120_000,
  maxHeaderSize: 16 * 1024,
  maxBodySize: 1024 * 1024,
  stopTimeout: 10_000,
};

/** Address to listen on, and dependencies of the server other than its handler. */
export interface HttpOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  deps: Pick<Deps, "log" | "ids" | "clock">;
  limits?: HttpLimits;
  /** Answers what needs no request. */
  plain?: PlainEvaluations;
}

/** A running server. */
export interface HttpServer {
  /** As a client writes it, without a slash at the end. */
  url: string;
  /** Stops accepting, waits for what is in flight (`stopTimeout` at most), then closes every connection. */
  stop(): Promise<void>;
}

/** Listens and serves; rejects with Node's error (`EADDRINUSE`, …) when it cannot listen. */
export async function serveHttp(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, deps, limits = LIMITS, plain }: HttpOptions,
): Promise<HttpServer> {
  const requests = inFlight();
  const endOfTurn = turnEnds();
  const newId = () => deps.ids.uuid(deps.clock.now());

  const requestOf = (req: IncomingMessage, res: ServerResponse) =>
    new NodeRequest({ req, res, maxRequestBodySize: limits.maxBodySize });

  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    requests.begin(res);
    try {
      const problem = problemWith(req);
      if (problem) return refuseRequest(res, problem, newId());
      const plainly = plain?.answer(req);
      const response = (plainly && (await plainly)) ?? (await fetch(requestOf(req, res)));
      if (!plainly) plain?.learn(req, response.status);
      // A client that is being woken costs each answer time: those of one turn are sent together.
      await endOfTurn();
      const sending = sendResponse(res, response);
      if (sending) await sending;
    } catch (error) {
      if (res.destroyed) return; // the client has gone; nobody is left to answer
      const requestId = newId();
      const { traceparent } = req.headers as { traceparent?: string };
      deps.log.error("request failed outside its handler", {
        request_id: requestId,
        ...(parseTraceparent(traceparent) && { traceparent }),
        path: req.url?.split("?")[0],
        error,
      });
      refuseRequest(res, "internal", requestId);
    } finally {
      requests.handled(res);
    }
  };

  const server = createServer({
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.maxHeaderSize,
    requireHostHeader: false, // Node would refuse without a body
  });
  server.timeout = limits.idleTimeout;
  // A long log takes minutes to check. A waiting client sends nothing meanwhile.
  server.on("timeout", (socket) => {
    const isAwaited = requests.on(socket).some(({ req, headersSent }) => req.complete && !headersSent);
    if (isAwaited) socket.setTimeout(limits.idleTimeout);
    else socket.destroy();
  });
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  // To Node a connection is idle, too, whose last answer has not all been sent. One that was never answered is not.
  server.closeIdleConnections = () => {
    for (const socket of open) if (socket.bytesWritten > 0 && requests.on(socket).length === 0) socket.destroy();
  };
  server.on("request", (req, res) => void respond(req, res));
  server.on("clientError", (error, socket) => refuseConnection(error, socket, requests.on(socket), newId()));

  await listening(server, host, port);
  return {
    url: urlOf(server.address() as AddressInfo),
    stop: () => stop(server, requests, limits.stopTimeout),
  };
}

/** Matches a path that a URL parser would rewrite into another one: dot segments, also encoded, and backslashes. */
const REWRITTEN_PATH = /\\|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** Returns what is wrong with a request that Node's parser accepts: no Host, a target of another host, or a path with `..`. */
function problemWith({ url = "", headers, httpVersion }: IncomingMessage): Refusal | undefined {
  if (headers.host === undefined && httpVersion === "1.1") return "host_missing";
  if (PLAIN_PATH.test(url)) return undefined;
  // A proxy in front has judged the path as it was sent.
  if (REWRITTEN_PATH.test(url.replace(/^https?:\/\/[^/?#]*/i, "").split(/[?#]/)[0]!)) return "bad_path";
  if (url.startsWith("/") || url === "*") return undefined;
  const target = URL.canParse(url) ? new URL(url) : undefined;
  const same = target !== undefined && /^https?:$/.test(target.protocol) && target.host === headers.host?.toLowerCase();
  return same ? undefined : "bad_target";
}

/** Returns a function whose promises resolve when what arrived in this turn of the event loop is worked on: one for all. */
function turnEnds(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return () =>
    (end ??= yieldToEventLoop().then(() => {
      end = undefined;
    }));
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(server: Server, requests: InFlight, timeout: number): Promise<void> {
  server.close();
  requests.closeAfterAnswer();
  await requests.idle(timeout);
  server.closeAllConnections();
}
