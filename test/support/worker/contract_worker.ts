/** The Worker host for the tests: many services in one Worker, each with settings and a clock that its requests bring. */
import { DurableObject } from "cloudflare:workers";
import { endpoints } from "../../../handlers/index.ts";
import { type EdgeEnv, edgeHost, type EdgeObject } from "../../../lib/hosts/edge/worker.ts";
import { TOLD, type Told, parseTold, toldText } from "./told.ts";

type Namespace = EdgeEnv["COUNTERSIGN"];

const toldBy = (request: Request): Told => parseTold(request.headers.get(TOLD)!);

/** The same request without what the test says beside it, or with it. */
function retold(request: Request, told?: Told): Request {
  const copy = new Request(request);
  if (told) copy.headers.set(TOLD, toldText(told));
  else copy.headers.delete(TOLD);
  return copy;
}

/** The real object, made with the settings of its service. */
export class Countersign extends DurableObject<EdgeEnv> {
  #now = 0;
  #id = 0;
  #fails = false;
  #object: EdgeObject | undefined;

  override async fetch(request: Request): Promise<Response> {
    const { env, now, id, empty = [], fails = false, reset } = toldBy(request);
    if (reset === "always" || (reset && this.#object)) this.ctx.abort("reset by the test");
    this.#now = now;
    this.#fails = fails;
    this.#id = Math.max(this.#id, id);
    const ids = { uuid: () => `00000000-0000-7000-8000-${(++this.#id).toString(16).padStart(12, "0")}` };
    const host = edgeHost({ endpoints, clock: { now: () => this.#time() }, ids });
    this.#object ??= new host.Countersign(this.ctx, { ...this.env, ...env });
    const asked = retold(request);
    for (const name of empty) asked.headers.set(name, "");
    return this.#object.fetch(asked);
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

/** Objects of one service only, told what its request was told. */
function namespaceOf(namespace: Namespace, told: Told): Namespace {
  return {
    idFromName: (name) => namespace.idFromName(`${told.service}/${name}`),
    get: (id) => {
      const stub = namespace.get(id);
      return { fetch: (request) => stub.fetch(retold(request, told)), cycle: () => stub.cycle() };
    },
  };
}

export default {
  fetch(request: Request, env: EdgeEnv): Promise<Response> {
    const told = toldBy(request);
    const COUNTERSIGN = namespaceOf(env.COUNTERSIGN, told);
    return worker.fetch(retold(request), { ...env, ...told.env, COUNTERSIGN });
  },
};
