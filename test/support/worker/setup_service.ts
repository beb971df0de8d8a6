/** A service of the test Worker, with its own settings, clock and object; a test can reset the object. */
import { START } from "../clock.ts";
import { type Client, client } from "../client.ts";
import { manifest } from "../intents.ts";
import { sendAlone } from "./edge_service.ts";
import { SETUP_HEADER, type Setup, setupText } from "./setup.ts";

/** The entry of a Worker whose requests name their service. */
export const SETUP_ENTRY = 'export { Countersign, default } from "./test/support/worker/contract_worker.ts";';

/** More ids than one request makes, so that ids rise also from one object to the next. */
const IDS_PER_REQUEST = 100;

/** A client of one service. */
export interface SetupService extends Client {
  /** The settings that are sent with each request; a test may change them. */
  setup: Setup;
  /** Sends a request; an object that has answered before is reset first. */
  fetchAfterReset(request: Request): Promise<Response>;
  /** Sends a request without a reset. */
  fetch(request: Request): Promise<Response>;
  advance(ms: number): void;
  /** Resets the object; requests in progress are lost. */
  reset(): Promise<void>;
}

let serviceCount = 0;

/** Returns a client of a new service. `env` are its settings in addition to an intent with the required fields. */
export function startSetupService(url: string, env: Record<string, string> = {}): SetupService {
  const SVC_PRODUCT_INTENT_JSON = JSON.stringify(manifest());
  const setup: Setup = {
    service: `service-${++serviceCount}`,
    env: { SVC_PRODUCT_INTENT_JSON, SVC_ALLOW_ANONYMOUS_WRITES: "1", SVC_PROTECT_READS: "0", ...env },
    now: Date.parse(START),
    id: 0,
  };
  const send = (request: Request, overrides: Partial<Setup> = {}): Promise<Response> => {
    setup.id += IDS_PER_REQUEST;
    const headers = new Headers(request.headers);
    // workerd drops some headers with an empty value: the Worker adds them again.
    const empty = [...headers].flatMap(([name, value]) => (value === "" ? [name] : []));
    headers.set(SETUP_HEADER, setupText({ ...setup, empty, ...overrides }));
    return sendAlone(new Request(request, { headers }));
  };
  const fetch = (request: Request) => send(request);
  return {
    ...client(fetch, url),
    setup,
    fetch,
    fetchAfterReset: (request) => send(request, { reset: "once" }),
    advance: (ms) => void (setup.now += ms),
    async reset() {
      const { status } = await send(new Request(url, { method: "POST" }), { reset: "always" });
      if (status !== 503) throw new Error(`the object was not reset: ${status}`);
    },
  };
}
