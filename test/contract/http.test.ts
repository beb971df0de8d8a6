import { app } from "../../handlers/index.ts";
import { opened } from "../support/deps.ts";
import { ORIGIN } from "../support/requests.ts";
import { httpContract } from "./http_contract.ts";

httpContract("bare handlers", async (options) => {
  const deps = await opened(options);
  return { origin: ORIGIN, fetch: app(deps), advance: deps.clock.advance, close: () => deps.store.close() };
});
