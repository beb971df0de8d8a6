import { describe, onTestFinished } from "vitest";
import { endpoints } from "../../handlers/index.ts";
import { type LambdaHandler, lambdaHandler } from "../../lib/hosts/lambda/handler.ts";
import { routed } from "../../lib/http/router.ts";
import { context, eventOf, responseOf, type Source } from "../lib/hosts/lambda_events.ts";
import { checkedFetch } from "../support/checked_fetch.ts";
import { client } from "../support/client.ts";
import { opened } from "../support/deps.ts";
import { ORIGIN } from "../support/requests.ts";
import { bodyRules } from "./http/bodies.ts";
import { idempotencyRules } from "./http/idempotency.ts";
import { preconditionRules } from "./http/preconditions.ts";
import { httpContract, type Make, type Open } from "./http_contract.ts";

/** A client's way to a function and back. */
const through = (handler: LambdaHandler, source: Source, base64: boolean) => async (request: Request) =>
  responseOf(await handler(await eventOf(request, source, base64), context()));

const made =
  (source: Source, base64 = false): Make =>
  async (options) => {
    const deps = await opened(options);
    const handler = lambdaHandler({ open: async () => routed(endpoints, deps), log: deps.log });
    const fetch = through(handler, source, base64);
    return { origin: ORIGIN, fetch, advance: deps.clock.advance, close: () => deps.store.close() };
  };

httpContract("a Lambda function behind an HTTP API", made("http_api"));

describe.each([
  ["a REST API", made("rest_api")],
  ["a Function URL, whose bodies are all base64", made("function_url", true)],
])("a Lambda function behind %s", (_, make) => {
  const open: Open = async (options = {}) => {
    const { fetch, origin, advance, close } = await make(options);
    onTestFinished(close);
    return { ...client(checkedFetch(fetch, options.adminToken ? [options.adminToken] : []), origin), advance };
  };
  describe("bodies", () => bodyRules(open));
  describe("preconditions", () => preconditionRules(open));
  describe("idempotency", () => idempotencyRules(open));
});
