/** The service as a Cloudflare Worker, which routes each request to the Durable Object of the product, where the service runs. */
import { DurableObject } from "cloudflare:workers";
import { CONSOLE_HEADERS } from "../../http/console_headers.ts";
import { answerRequest } from "../../http/endpoint.ts";
import { AppError } from "../../kit/errors.ts";
import { risingIds } from "../../kit/ids.ts";
import { once } from "../../kit/once.ts";
import { wallClock } from "../../kit/platform.ts";
import type { CycleReport } from "../../operations/cycle.ts";
import { startError } from "../start_error.ts";
import { consoleLog } from "./log.ts";
import { type EdgeParts, type EdgeState, openEdge } from "./service.ts";

/** Bindings and settings of a Worker; each setting is a variable or a secret. */
export interface EdgeEnv extends Readonly<Record<string, unknown>> {
  /** The namespace of the Durable Objects. */
  COUNTERSIGN: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response>; cycle(): Promise<CycleReport> };
  };
  /** The console's files; without them the Worker serves the API only. */
  ASSETS?: { fetch(request: Request): Promise<Response> };
}

/** The service of one product. */
export interface EdgeObject {
  fetch(request: Request): Promise<Response>;
  /** Called by the Worker's cron trigger. */
  cycle(): Promise<CycleReport>;
  /** Called by the runtime after a request has scheduled a cycle. */
  alarm(): Promise<void>;
}

/** Exports of a Worker: `Countersign` under that name, and `worker` as the default. */
export interface EdgeHost {
  Countersign: new (ctx: EdgeState, env: EdgeEnv) => EdgeObject;
  worker: {
    fetch(request: Request, env: EdgeEnv): Promise<Response>;
    scheduled(event: unknown, env: EdgeEnv): Promise<void>;
  };
}

/** Creates the exports of a Worker. */
export function edgeHost(parts: EdgeParts): EdgeHost {
  const { settings } = parts;
  const paths = new Set(parts.endpoints.map(({ path }) => path));
  const addSettings = (env: EdgeEnv): EdgeEnv => ({ ...settings, ...env });

  /** The runtime may reset this object at any moment, so everything that it acknowledges is in its storage. */
  class Countersign extends DurableObject<EdgeEnv> implements EdgeObject {
    /** Opened once; when that fails, the next call tries again. */
    readonly #service = once(() =>
      openEdge(this.ctx.storage, addSettings(this.env), parts).catch((error: unknown) => {
        consoleLog.error("the service cannot start", { error });
        throw error;
      }),
    );

    override async fetch(request: Request): Promise<Response> {
      const service = await this.#service().catch((error: unknown) => respondWithError(request, startError(error)));
      return service instanceof Response ? service : service.fetch(request);
    }

    async cycle(): Promise<CycleReport> {
      return (await this.#service()).cycle();
    }

    /** A failed cycle is not repeated: the cron trigger starts the next. */
    override async alarm(): Promise<void> {
      await this.cycle().catch((error: unknown) => consoleLog.error("cycle failed", { error }));
    }
  }

  return {
    Countersign,
    worker: {
      async fetch(request, env) {
        const { pathname } = new URL(request.url);
        const isApi = pathname.startsWith("/api/") || paths.has(pathname);
        const file = isApi ? undefined : await fetchConsoleFile(env.ASSETS, request);
        return file ?? callObject(addSettings(env), request);
      },
      async scheduled(_event, env) {
        await findObject(addSettings(env)).cycle();
      },
    },
  };
}

/** Fetches a file of the console for a GET or HEAD; undefined for other methods and unknown files. */
async function fetchConsoleFile(assets: EdgeEnv["ASSETS"], request: Request): Promise<Response | undefined> {
  if (!assets || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const file = await assets.fetch(request);
  if (file.status === 404) return undefined;
  const response = new Response(file.body, file);
  for (const [name, value] of Object.entries(CONSOLE_HEADERS)) response.headers.set(name, value);
  return response;
}

/** Calls the product's object. A read that a reset interrupted is repeated; a write is not, since it may have been done. */
async function callObject(env: EdgeEnv, request: Request): Promise<Response> {
  const isRead = request.method === "GET" || request.method === "HEAD";
  try {
    return await findObject(env).fetch(request);
  } catch (error) {
    consoleLog.warn("the object was reset", { error, retried: isRead });
    if (!isRead) return respondWithError(request, interruptedError());
  }
  return findObject(env)
    .fetch(request)
    .catch(() => respondWithError(request, interruptedError()));
}

const interruptedError = () =>
  new AppError(
    "interrupted",
    "the service was restarted while it answered; look whether the change was made before asking for it again, or ask under the same Idempotency-Key",
    {},
    { "retry-after": "1" },
  );

const workerDeps = { clock: wallClock, ids: risingIds(), log: consoleLog };

/** Answers with an error when the service cannot be reached. */
const respondWithError = (request: Request, error: AppError): Promise<Response> =>
  answerRequest(workerDeps, request, () => Promise.reject(error));

const findObject = (env: EdgeEnv) => env.COUNTERSIGN.get(env.COUNTERSIGN.idFromName(objectName(env)));

/** Returns the name of the product's object. An unreadable intent leads to the object `none`, which reports the error. */
function objectName({ SVC_PRODUCT_INTENT_JSON: intent }: EdgeEnv): string {
  try {
    const { product_id } = JSON.parse(String(intent)) as { product_id?: unknown };
    if (typeof product_id === "string" && product_id !== "") return `product/${product_id}`;
  } catch {
    // reported by the object `none`
  }
  return "none";
}
