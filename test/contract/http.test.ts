import { app } from "../../handlers/index.ts";
import { ORIGIN } from "../support/requests.ts";
import { ALL, contractDeps, httpContract } from "./http_contract.ts";

httpContract("bare handlers", ALL, async (options) => {
  const deps = await contractDeps(options);
  return { origin: ORIGIN, fetch: app(deps), advance: deps.clock.advance, close: () => deps.store.close() };
});
