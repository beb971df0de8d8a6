/** The Worker host for tests: many services in one Worker, each with settings and a clock that its requests contain. */
import { DurableObject } from "cloudflare:workers";
import { endpoints } from "../../../handlers/index.ts";
import { type EdgeEnv, edgeHost, type EdgeObject } from "../../../lib/hosts/edge/worker.ts";
import { SETUP_HEADER, type Setup, parseSetup, setupText } from "./setup.ts";

type Namespace = EdgeEnv["COUNTERSIGN"];

const readSetup = (request: Request): Setup => parseSetup(request.headers.get(SETUP_HEADER)!);

/** Returns the request with this setup, or without any. */
function withSetup(request: Request, setup?: Setup): Request {
  const copy = new Request(request);
  if (setup) copy.headers.set(SETUP_HEADER, setupText(setup));
  else copy.headers.delete(SETUP_HEADER);
  return copy;
}

/** The real object, made with the settings of its service. */
export class Countersign extends DurableObject<EdgeEnv> {
  #now = 0;
  #id = 0;
  #fails = false;
  #object: EdgeObject | undefined;

  override async fetch(request: Request): Promise<Response> {
    const { env, now, id, empty = [], fails = false, reset } = readSetup(request);
    if (reset === "always" || (reset && this.#object)) this.ctx.abort("reset by the test");
    this.#now = now;
    this.#fails = fails;
    this.#id = Math.max(this.#id, id);
    const ids = { uuid: () => `00000000-0000-7000-8000-${(++this.#id).toString(16).padStart(12, "0")}` };
    const host = edgeHost({ endpoints, clock: { now: () => this.#time() }, ids });
    this.#object ??= new host.Countersign(this.ctx, { ...this.env, ...env });
    const forwarded = withSetup(request);
    for (const name of empty) forwarded.headers.set(name, "");
    return this.#object.fetch(forwarded);
  }

  #time(): number {
    if (this.#fails) throw new Error("disk I/O error at /var/secret");
    return this.#now;
  }

  override async alarm(): Promise<void> {
    await this.#object?.alarm();
  }
}

const { worker } = edgeHost({ endpoints });

/** Returns a namespace with the objects of one service, which adds the setup to each request. */
function namespaceOf(namespace: Namespace, setup: Setup): Namespace {
  return {
    idFromName: (name) => namespace.idFromName(`${setup.service}/${name}`),
    get: (id) => {
      const stub = namespace.get(id);
      return { fetch: (request) => stub.fetch(withSetup(request, setup)), cycle: () => stub.cycle() };
    },
  };
}

export default {
  fetch(request: Request, env: EdgeEnv): Promise<Response> {
    const setup = readSetup(request);
    const COUNTERSIGN = namespaceOf(env.COUNTERSIGN, setup);
    return worker.fetch(withSetup(request), { ...env, ...setup.env, COUNTERSIGN });
  },
};
