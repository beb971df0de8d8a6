/** Serves a fetch handler over HTTP with limits on headers, times and bodies; a stop lets responses finish. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { NodeRequest } from "srvx/node";
import type { Deps } from "../lib/deps.ts";
import { parseTraceparent } from "../lib/kit/trace.ts";
import { yieldToEventLoop } from "../lib/kit/event_loop.ts";
import { rejectConnection, rejectRequest, type Rejection } from "./http_rejection.ts";
import { trackInFlight, type InFlight } from "./in_flight.ts";
import { PLAIN_PATH, type PlainEvaluations } from "./plain_evaluations.ts";
import { sendResponse } from "./send_response.ts";

/** Limits; times in milliseconds, sizes in bytes. */
export interface HttpLimits {
  /** Times to receive the headers, and a complete request; both are checked every `checkInterval`. */
  headersTimeout: number;
  requestTimeout: number;
  checkInterval: number;
  /** Times without traffic: between two requests, and while a request is received or a response sent. */
  keepAliveTimeout: number;
  idleTimeout: number;
  maxHeaderSize: number;
  /** Maximum size of a request body, whatever a handler allows. */
  maxBodySize: number;
  /** Time for requests in flight when the server stops. */
  stopTimeout: number;
}

/** Limits of the local program. `keepAliveTimeout` is above that of common proxies, which reuse connections. */
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
  /** Answers flag evaluations that need no `Request`. */
  plain?: PlainEvaluations;
}

/** A running server. */
export interface HttpServer {
  /** Without a slash at the end. */
  url: string;
  /** Stops accepting, waits for requests in flight (at most `stopTimeout`), then closes all connections. */
  stop(): Promise<void>;
}

/** Listens and serves. Errors: Node's own (`EADDRINUSE`, …) where it cannot listen. */
export async function serveHttp(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, deps, limits = LIMITS, plain }: HttpOptions,
): Promise<HttpServer> {
  const requests = trackInFlight();
  const waitForTurnEnd = createTurnWaiter();
  const newId = () => deps.ids.uuid(deps.clock.now());

  const toRequest = (req: IncomingMessage, res: ServerResponse) =>
    new NodeRequest({ req, res, maxRequestBodySize: limits.maxBodySize });

  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    requests.begin(res);
    try {
      const problem = findRejection(req);
      if (problem) return rejectRequest(res, problem, newId());
      const plainAnswer = plain?.answer(req);
      const response = (plainAnswer && (await plainAnswer)) ?? (await fetch(toRequest(req, res)));
      // `plain` tries only requests to endpoints that are admitted already.
      if (!plainAnswer) plain?.recordStatus(req, response.status);
      // Each send wakes a client, which delays the next answer: answers of one turn of the event loop are sent together.
      await waitForTurnEnd();
      const pendingSend = sendResponse(res, response);
      if (pendingSend) await pendingSend;
    } catch (error) {
      if (res.destroyed) return; // the client has disconnected
      const requestId = newId();
      const { traceparent } = req.headers as { traceparent?: string };
      deps.log.error("request failed outside its handler", {
        request_id: requestId,
        ...(parseTraceparent(traceparent) && { traceparent }),
        path: req.url?.split("?")[0],
        error,
      });
      rejectRequest(res, "internal", requestId);
    } finally {
      requests.endHandling(res);
    }
  };

  const server = createServer({
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.maxHeaderSize,
    requireHostHeader: false, // Node would reject without a body
  });
  server.timeout = limits.idleTimeout;
  // Verifying a long log takes minutes, in which a waiting client sends nothing.
  server.on("timeout", (socket) => {
    const isClientWaiting = requests.listPending(socket).some(({ req, headersSent }) => req.complete && !headersSent);
    if (isClientWaiting) socket.setTimeout(limits.idleTimeout);
    else socket.destroy();
  });
  const openSockets = new Set<Socket>();
  server.on("connection", (socket) => {
    openSockets.add(socket);
    socket.once("close", () => openSockets.delete(socket));
  });
  // As in Node, a connection without any response yet is not idle; unlike in Node, nor is one whose last response is being sent.
  server.closeIdleConnections = () => {
    for (const socket of openSockets)
      if (socket.bytesWritten > 0 && requests.listPending(socket).length === 0) socket.destroy();
  };
  server.on("request", (req, res) => void respond(req, res));
  server.on("clientError", (error, socket) => rejectConnection(error, socket, requests.listPending(socket), newId()));

  await listen(server, host, port);
  return {
    url: formatUrl(server.address() as AddressInfo),
    stop: () => stop(server, requests, limits.stopTimeout),
  };
}

/** Matches a path that a URL parser would rewrite into another one: dot segments, also encoded, and backslashes. */
const REWRITTEN_PATH = /\\|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** Returns why to reject a request that Node's parser accepts: HTTP/1.1 without Host, a target of another host, or a path with `..`. */
function findRejection({ url = "", headers, httpVersion }: IncomingMessage): Rejection | undefined {
  if (headers.host === undefined && httpVersion === "1.1") return "host_missing";
  if (PLAIN_PATH.test(url)) return undefined;
  // A proxy in front decides by the path as it was sent, which a URL parser would change.
  if (REWRITTEN_PATH.test(url.replace(/^https?:\/\/[^/?#]*/i, "").split(/[?#]/)[0]!)) return "bad_path";
  if (url.startsWith("/") || url === "*") return undefined;
  const target = URL.canParse(url) ? new URL(url) : undefined;
  const isSameHost =
    target !== undefined && /^https?:$/.test(target.protocol) && target.host === headers.host?.toLowerCase();
  return isSameHost ? undefined : "bad_target";
}

/** Creates a function that resolves after the present turn of the event loop; all calls in one turn share a promise. */
function createTurnWaiter(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return () =>
    (end ??= yieldToEventLoop().then(() => {
      end = undefined;
    }));
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function formatUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(server: Server, requests: InFlight, timeout: number): Promise<void> {
  server.close();
  requests.closeAfterAnswer();
  await requests.waitUntilIdle(timeout);
  server.closeAllConnections();
}
