/** A Worker passes the HTTP contract although its Durable Object is reset at random. */
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manifest } from "../support/intents.ts";
import { startWorkerd, workerScript } from "../support/worker/edge_service.ts";
import { SETUP_ENTRY, startSetupService } from "../support/worker/setup_service.ts";
import { type ContractOptions, httpContract, OF_A_HOST, type Section } from "./http_contract.ts";

let workerd: Miniflare;
let url: string;

beforeAll(async () => {
  ({ workerd, url } = await startWorkerd(await workerScript(SETUP_ENTRY)));
});
afterAll(() => workerd.dispose());

/** Returns the variables of a Worker for the options of a service; an empty variable counts as absent. */
const toVariables = ({
  intent = {},
  adminToken,
  identityHeader,
  identityJwt,
  allowedHosts,
}: ContractOptions): Record<string, string> => ({
  SVC_PRODUCT_INTENT_JSON: intent ? JSON.stringify(manifest(intent)) : "",
  SVC_ADMIN_TOKEN: adminToken ?? "",
  SVC_ALLOW_ANONYMOUS_WRITES: adminToken ? "0" : "1",
  SVC_PROTECT_ALL: "0",
  SVC_IDENTITY_HEADER: identityHeader ?? "",
  SVC_IDENTITY_JWT_JSON: identityJwt ?? "",
  SVC_ALLOWED_HOSTS: allowedHosts?.join(",") ?? "",
});

/** Returns pseudo-random numbers from 0 to 1, the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Probability that an object is reset between requests. */
const RESET_PROBABILITY = 0.3;
let startedServices = 0;
let resets = 0;

/** Sections that fail if a reset object loses data, in addition to those of any host. */
const DURABILITY_SECTIONS: Section[] = ["transitions", "idempotency"];

httpContract(
  "a Worker whose object is reset between requests",
  [...new Set([...OF_A_HOST, ...DURABILITY_SECTIONS])],
  async (options) => {
    const service = startSetupService(url, toVariables(options));
    const nextRandom = createRandom(++startedServices);
    let runningRequests = 0;
    let resetting: Promise<void> | undefined;
    return {
      origin: url,
      async fetch(request) {
        // A reset loses the requests in progress, so it happens only while there are none.
        if (runningRequests++ === 0 && nextRandom() < RESET_PROBABILITY)
          resetting = service.reset().then(() => void resets++);
        await resetting;
        return service.fetch(request).finally(() => runningRequests--);
      },
      advance: service.advance,
      close: async () => undefined,
    };
  },
);

test("the objects were reset many times", () => {
  expect(resets).toBeGreaterThan(250);
});
