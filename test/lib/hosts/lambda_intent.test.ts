/** The product intent is read from SSM or S3; both are simulated by servers that require a signed request. */
import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { addIntent } from "../../../lib/hosts/lambda/intent_address.ts";
import { manifest } from "../../support/intents.ts";
import { type AwsEndpoint, startEndpoint } from "./lambda_aws.ts";

const INTENT = JSON.stringify(manifest());
const ROLE = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_SESSION_TOKEN: "session",
};
const started: AwsEndpoint[] = [];
afterEach(() => Promise.all(started.splice(0).map((aws) => aws.stop())));

/** A request to a service of AWS. */
interface AwsRequest {
  method: string;
  path: string;
  target: string | undefined;
  body: string;
}
type AwsResponse = { status: number; body: string };

/** Starts a service of AWS that answers signed requests; returns the variable with its address. */
async function startAws(
  service: "ssm" | "s3",
  answer: (request: AwsRequest) => AwsResponse,
): Promise<Record<string, string>> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = "", "x-amz-security-token": session, "x-amz-target": target } = request.headers;
    const isSigned = authorization.includes(`/eu-central-1/${service}/aws4_request`) && session === "session";
    const awsRequest = {
      method: request.method!,
      path: request.url!,
      target: target as string | undefined,
      body: String(Buffer.concat(chunks)),
    };
    const { status, body } = isSigned
      ? answer(awsRequest)
      : { status: 400, body: '{"__type":"MissingAuthenticationToken"}' };
    response.writeHead(status).end(body);
  });
  const endpoint = await startEndpoint(server, []);
  started.push(endpoint);
  return { [`AWS_ENDPOINT_URL_${service.toUpperCase()}`]: endpoint.url };
}

const ssmParameter = (Value: unknown): AwsResponse => ({
  status: 200,
  body: JSON.stringify({ Parameter: { Name: "/countersign/intent", Type: "String", Value } }),
});
// `hunter2` stands for text of AWS, which no error of the function may repeat.
const ssmError = (__type: string): AwsResponse => ({
  status: 400,
  body: JSON.stringify({ __type, message: "hunter2" }),
});
const s3Error = (status: number, code: string): AwsResponse => ({
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>hunter2</Message></Error>`,
});

const fromSsm = { ...ROLE, SVC_PRODUCT_INTENT: "ssm:/countersign/intent" };
const fromS3 = { ...ROLE, SVC_PRODUCT_INTENT: "s3://acme.governance/countersign/intent_2026-11.json" };

test("the intent is read from a parameter of SSM, encrypted or not", async () => {
  const env = {
    ...fromSsm,
    ...(await startAws("ssm", ({ method, target, body }) => {
      expect({ method, target }).toEqual({ method: "POST", target: "AmazonSSM.GetParameter" });
      expect(JSON.parse(body)).toEqual({ Name: "/countersign/intent", WithDecryption: true });
      return ssmParameter(INTENT);
    })),
  };
  expect(await addIntent(env)).toEqual({ ...env, SVC_PRODUCT_INTENT_JSON: INTENT });
});

test("the intent is read from S3, also 200 KB in a bucket whose name has dots", async () => {
  const large = JSON.stringify({ ...manifest(), note: "é".repeat(100_000) });
  const env = {
    ...fromS3,
    ...(await startAws("s3", ({ method, path, body }) => {
      expect({ method, path, body }).toEqual({
        method: "GET",
        path: "/acme.governance/countersign/intent_2026-11.json",
        body: "",
      });
      return { status: 200, body: large };
    })),
  };
  expect(await addIntent(env)).toEqual({ ...env, SVC_PRODUCT_INTENT_JSON: large });
});

test("without an address no request is sent", async () => {
  const env = { SVC_PRODUCT_INTENT: "", SVC_PRODUCT_INTENT_JSON: INTENT };
  expect(await addIntent(env, () => Promise.reject(new Error("a request was sent")))).toBe(env);
});

describe("the error names the cause:", () => {
  /** Returns the message of the error for these variables. */
  const readError = async (env: Record<string, string>, send?: typeof fetch): Promise<string> => {
    const error = (await addIntent(env, send).catch((thrown: unknown) => thrown)) as Error;
    expect(error.name).toBe("SettingInvalid");
    expect(error.message).not.toContain("hunter2");
    return error.message;
  };

  test("two intents are configured", async () => {
    expect(await readError({ ...fromSsm, SVC_PRODUCT_INTENT_JSON: INTENT })).toMatch(/are both set/);
  });

  test.each([
    "product_intent.json",
    INTENT,
    "ssm:intent",
    "ssm:/a b",
    "s3://bucket",
    "s3://bucket/",
    "s3://UPPER/key",
    "s3://bucket/a//b",
    "s3://bucket/a?versionId=1",
    "https://bucket.s3.amazonaws.com/key",
  ])("the address %s is invalid", async (SVC_PRODUCT_INTENT) => {
    const message = await readError({ ...ROLE, SVC_PRODUCT_INTENT }, () =>
      Promise.reject(new Error("a request was sent")),
    );
    expect(message).toMatch(/^SVC_PRODUCT_INTENT must be ssm:\/name or s3:\/\/bucket\/key, /);
  });

  test.each([
    [ssmError("ParameterNotFound"), "there is no such parameter in the function's account and region"],
    [
      ssmError("com.amazonaws.ssm#AccessDeniedException"),
      "the function may not read it: its role needs ssm:GetParameter on it",
    ],
    [ssmError("ThrottlingException"), "SSM answers ThrottlingException"],
    [{ status: 502, body: "<html>hunter2</html>" }, "SSM answers 502"],
    [ssmParameter(undefined), "SSM answers without a value"],
    [{ status: 200, body: "hunter2" }, "SSM answers without a value"],
  ])("SSM answers with %j", async (answer, reason) => {
    const env = { ...fromSsm, ...(await startAws("ssm", () => answer)) };
    expect(await readError(env)).toBe(`SVC_PRODUCT_INTENT ssm:/countersign/intent: ${reason}`);
  });

  test.each([
    [s3Error(404, "NoSuchKey"), "there is no such object in the bucket"],
    [
      s3Error(403, "AccessDenied"),
      "it is not there, or the function may not read it: its role needs s3:GetObject on it",
    ],
    [s3Error(301, "PermanentRedirect"), "the bucket is in another region than the function"],
    [{ status: 200, body: "x".repeat(300_000) }, "it has more than 256 KB, which no intent has"],
  ])("S3 answers with %j", async (answer, reason) => {
    const env = { ...fromS3, ...(await startAws("s3", () => answer)) };
    expect(await readError(env)).toBe(`SVC_PRODUCT_INTENT ${fromS3.SVC_PRODUCT_INTENT}: ${reason}`);
  });

  test("the service cannot be reached, also at the second attempt", async () => {
    let sent = 0;
    const unreachable: typeof fetch = () => Promise.reject(new TypeError(`fetch failed ${++sent}`));
    expect(await readError(fromS3, unreachable)).toMatch(/: S3 cannot be reached: TypeError: fetch failed 2$/);
  });
});
