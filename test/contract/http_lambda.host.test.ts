import { endpoints } from "../../handlers/index.ts";
import { type LambdaHandler, lambdaHandler } from "../../lib/hosts/lambda/handler.ts";
import { createRouter } from "../../lib/http/router.ts";
import { context, makeEvent, toFetchResponse, type Source } from "../lib/hosts/lambda_events.ts";
import { ORIGIN } from "../support/requests.ts";
import { httpContract, type Make, OF_A_HOST, type Section } from "./http_contract.ts";
import { openDeps } from "../support/deps.ts";

/** Converts requests to events of a function, and its results to responses. */
const through = (handler: LambdaHandler, source: Source, base64: boolean) => async (request: Request) =>
  toFetchResponse(await handler(await makeEvent(request, source, base64), context()));

const made =
  (source: Source, base64 = false): Make =>
  async (options) => {
    const deps = await openDeps(options);
    const handler = lambdaHandler({ open: async () => createRouter(endpoints, deps), log: deps.log });
    const fetch = through(handler, source, base64);
    return { origin: ORIGIN, fetch, advance: deps.clock.advance, close: () => deps.store.close() };
  };

httpContract("a Lambda function behind an HTTP API", [...OF_A_HOST, "idempotency"], made("http_api"));

// The events differ in their format and in the encoding of bodies.
const OF_AN_EVENT: Section[] = ["life", "bodies", "preconditions"];
httpContract("a Lambda function behind a REST API", OF_AN_EVENT, made("rest_api"));
httpContract("a Lambda function behind a Function URL, all base64", OF_AN_EVENT, made("function_url", true));
httpContract("a Lambda function behind a load balancer, with lists", OF_AN_EVENT, made("alb_lists"));
// Without lists the balancer passes on only the last of repeated parameters, so the service cannot reject them.
httpContract("a Lambda function behind a load balancer", ["life", "preconditions"], made("alb"));
