/** The handlers pass the HTTP contract without a host. */
import { app } from "../../handlers/index.ts";
import { ORIGIN } from "../support/requests.ts";
import { ALL, httpContract } from "./http_contract.ts";
import { openDeps } from "../support/deps.ts";

httpContract("bare handlers", ALL, async (options) => {
  const deps = await openDeps(options);
  return { origin: ORIGIN, fetch: app(deps), advance: deps.clock.advance, close: () => deps.store.close() };
});
