/** A Lambda function passes the HTTP contract behind each service of AWS. */
import { endpoints } from "../../handlers/index.ts";
import { type LambdaHandler, lambdaHandler } from "../../lib/hosts/lambda/handler.ts";
import { createRouter } from "../../lib/http/router.ts";
import { context, makeEvent, toFetchResponse, type Source } from "../lib/hosts/lambda_events.ts";
import { ORIGIN } from "../support/requests.ts";
import { httpContract, type Make, OF_A_HOST, type Section } from "./http_contract.ts";
import { openDeps } from "../support/deps.ts";

/** Returns a `fetch` that converts requests to events of a function, and the results to responses. */
const fetchThrough = (handler: LambdaHandler, source: Source, base64: boolean) => async (request: Request) =>
  toFetchResponse(await handler(await makeEvent(request, source, base64), context()));

const functionBehind =
  (source: Source, base64 = false): Make =>
  async (options) => {
    const deps = await openDeps(options);
    const handler = lambdaHandler({ open: async () => createRouter(endpoints, deps), log: deps.log });
    const fetch = fetchThrough(handler, source, base64);
    return { origin: ORIGIN, fetch, advance: deps.clock.advance, close: () => deps.store.close() };
  };

httpContract("a Lambda function behind an HTTP API", [...OF_A_HOST, "idempotency"], functionBehind("http_api"));

/** The sections that the format of an event can break. */
const OF_AN_EVENT: Section[] = ["lifecycle", "bodies", "preconditions"];
httpContract("a Lambda function behind a REST API", OF_AN_EVENT, functionBehind("rest_api"));
httpContract("a Lambda function behind a Function URL, all base64", OF_AN_EVENT, functionBehind("function_url", true));
httpContract("a Lambda function behind a load balancer, with lists", OF_AN_EVENT, functionBehind("alb_lists"));
// Without lists the balancer passes on only the last of repeated parameters, so the service cannot reject them.
httpContract("a Lambda function behind a load balancer", ["lifecycle", "preconditions"], functionBehind("alb"));
