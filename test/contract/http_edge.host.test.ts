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

/** The settings of a service, as the variables of a Worker; an empty one is unset. */
const envOf = ({
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

/** Random numbers from 0 to 1, the same in each run. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Probability that an object is reset between requests. */
const RESETS = 0.3;
let started = 0;
let resets = 0;

/** The sections of any host, and those that fail if a reset object loses data. */
const FORGETFUL: Section[] = ["transitions", "idempotency"];

httpContract(
  "a Worker whose object is reset between requests",
  [...new Set([...OF_A_HOST, ...FORGETFUL])],
  async (options) => {
    const service = startSetupService(url, envOf(options));
    const next = chance(++started);
    let underWay = 0;
    let ready: Promise<void> | undefined;
    return {
      origin: url,
      async fetch(request) {
        if (underWay++ === 0 && next() < RESETS) ready = service.reset().then(() => void resets++);
        await ready;
        return service.fetch(request).finally(() => underWay--);
      },
      advance: service.advance,
      close: async () => undefined,
    };
  },
);

test("the objects were reset many times", () => {
  expect(resets).toBeGreaterThan(250);
});
