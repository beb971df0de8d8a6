/** The log of a function: JSON lines on standard output, written before the function responds. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { livez } from "../../../handlers/livez.ts";
import { lambdaFunction } from "../../../lib/hosts/lambda/function.ts";
import { lambdaLog } from "../../../lib/hosts/lambda/log.ts";
import { context, makeEvent } from "./lambda_events.ts";

let lines: Record<string, unknown>[];
beforeEach(() => {
  lines = [];
  const addLines = (text: unknown): boolean => {
    for (const line of String(text).split("\n")) if (line.startsWith("{")) lines.push(JSON.parse(line));
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(addLines);
  vi.spyOn(process.stderr, "write").mockImplementation(addLines);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test("a line is JSON with its fields and the id of its invocation, in order", async () => {
  const log = lambdaLog();
  const [first, second] = [context(), context()];
  log.begin(first);
  log.info("begun", { a: 1 });
  log.warn("odd");
  log.begin(second);
  log.error("broken", { error: "x" });
  await log.flush();
  expect(lines).toMatchObject([
    { level: "INFO", message: "begun", a: 1, service: "countersign", function_request_id: first.awsRequestId },
    { level: "WARN", message: "odd", function_request_id: first.awsRequestId },
    { level: "ERROR", message: "broken", error: "x", function_request_id: second.awsRequestId },
  ]);
});

test("lines outside an invocation are logged too", async () => {
  const log = lambdaLog();
  log.begin(undefined);
  log.info("begun");
  await log.flush();
  expect(lines).toMatchObject([{ message: "begun" }]);
});

test("a function writes its log before it responds, so that no line is lost when Lambda halts it", async () => {
  vi.stubEnv("SVC_DYNAMODB_TABLE", "");
  const event = await makeEvent(new Request("https://api.example/livez"));
  const result = await lambdaFunction([{ livez }])(event, context());
  expect(result.statusCode).toBe(503);
  expect(JSON.parse(result.body)).toMatchObject({ code: "cannot_start" });
  expect(lines).toMatchObject([{ level: "ERROR", error: expect.stringContaining("SVC_DYNAMODB_TABLE is not set") }]);
});
