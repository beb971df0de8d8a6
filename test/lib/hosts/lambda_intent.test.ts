/** The product intent from where it is kept: SSM and S3, as a server each that holds the request to its signature's form. */
import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { addIntent } from "../../../lib/hosts/lambda/intent_address.ts";
import { manifest } from "../../support/intents.ts";
import { type Aws, listening } from "./lambda_aws.ts";

const INTENT = JSON.stringify(manifest());
const ROLE = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_SESSION_TOKEN: "session",
};
const started: Aws[] = [];
afterEach(() => Promise.all(started.splice(0).map((aws) => aws.stop())));

/** Requests to a service of AWS, and its answers. */
interface Asked {
  method: string;
  path: string;
  target: string | undefined;
  body: string;
}
type Answer = { status: number; body: string };

/** A service of AWS that answers signed requests alone. */
async function aws(service: "ssm" | "s3", answer: (asked: Asked) => Answer): Promise<Record<string, string>> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = "", "x-amz-security-token": session, "x-amz-target": target } = request.headers;
    const signed = authorization.includes(`/eu-central-1/${service}/aws4_request`) && session === "session";
    const asked = {
      method: request.method!,
      path: request.url!,
      target: target as string | undefined,
      body: String(Buffer.concat(chunks)),
    };
    const { status, body } = signed ? answer(asked) : { status: 400, body: '{"__type":"MissingAuthenticationToken"}' };
    response.writeHead(status).end(body);
  });
  const here = await listening(server, []);
  started.push(here);
  return { [`AWS_ENDPOINT_URL_${service.toUpperCase()}`]: here.url };
}

const parameter = (Value: unknown): Answer => ({
  status: 200,
  body: JSON.stringify({ Parameter: { Name: "/countersign/intent", Type: "String", Value } }),
});
const refusal = (__type: string): Answer => ({ status: 400, body: JSON.stringify({ __type, message: "hunter2" }) });
const xml = (status: number, code: string): Answer => ({
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>hunter2</Message></Error>`,
});

const fromSsm = { ...ROLE, SVC_PRODUCT_INTENT: "ssm:/countersign/intent" };
const fromS3 = { ...ROLE, SVC_PRODUCT_INTENT: "s3://acme.governance/countersign/intent_2026-11.json" };

test("the intent is read from a parameter of SSM, encrypted or not", async () => {
  const env = {
    ...fromSsm,
    ...(await aws("ssm", ({ method, target, body }) => {
      expect({ method, target }).toEqual({ method: "POST", target: "AmazonSSM.GetParameter" });
      expect(JSON.parse(body)).toEqual({ Name: "/countersign/intent", WithDecryption: true });
      return parameter(INTENT);
    })),
  };
  expect(await addIntent(env)).toEqual({ ...env, SVC_PRODUCT_INTENT_JSON: INTENT });
});

test("the intent is read from S3, also 200 KB in a bucket whose name has dots", async () => {
  const large = JSON.stringify({ ...manifest(), note: "é".repeat(100_000) });
  const env = {
    ...fromS3,
    ...(await aws("s3", ({ method, path, body }) => {
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
  expect(await addIntent(env, () => Promise.reject(new Error("asked")))).toBe(env);
});

describe("the error says what is wrong and what to do about", () => {
  const refused = async (env: Record<string, string>, send?: typeof fetch): Promise<string> => {
    const error = (await addIntent(env, send).catch((thrown: unknown) => thrown)) as Error;
    expect(error.name).toBe("SettingInvalid");
    expect(error.message).not.toContain("hunter2");
    return error.message;
  };

  test("two intents are configured", async () => {
    expect(await refused({ ...fromSsm, SVC_PRODUCT_INTENT_JSON: INTENT })).toMatch(/are both set/);
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
  ])("the address %s", async (SVC_PRODUCT_INTENT) => {
    const message = await refused({ ...ROLE, SVC_PRODUCT_INTENT }, () => Promise.reject(new Error("asked")));
    expect(message).toMatch(/^SVC_PRODUCT_INTENT must be ssm:\/name or s3:\/\/bucket\/key, /);
  });

  test.each([
    [refusal("ParameterNotFound"), "there is no such parameter in the function's account and region"],
    [
      refusal("com.amazonaws.ssm#AccessDeniedException"),
      "the function may not read it: its role needs ssm:GetParameter on it",
    ],
    [refusal("ThrottlingException"), "SSM answers ThrottlingException"],
    [{ status: 502, body: "<html>hunter2</html>" }, "SSM answers 502"],
    [parameter(undefined), "SSM answers without a value"],
    [{ status: 200, body: "hunter2" }, "SSM answers without a value"],
  ])("the parameter is answered with %j", async (answer, reason) => {
    const env = { ...fromSsm, ...(await aws("ssm", () => answer)) };
    expect(await refused(env)).toBe(`SVC_PRODUCT_INTENT ssm:/countersign/intent: ${reason}`);
  });

  test.each([
    [xml(404, "NoSuchKey"), "there is no such object in the bucket"],
    [xml(403, "AccessDenied"), "it is not there, or the function may not read it: its role needs s3:GetObject on it"],
    [xml(301, "PermanentRedirect"), "the bucket is in another region than the function"],
    [{ status: 200, body: "x".repeat(300_000) }, "it has more than 256 KB, which no intent has"],
  ])("the object is answered with %j", async (answer, reason) => {
    const env = { ...fromS3, ...(await aws("s3", () => answer)) };
    expect(await refused(env)).toBe(`SVC_PRODUCT_INTENT ${fromS3.SVC_PRODUCT_INTENT}: ${reason}`);
  });

  test("the address cannot be reached, after a second try", async () => {
    let sent = 0;
    const dead: typeof fetch = () => Promise.reject(new TypeError(`fetch failed ${++sent}`));
    expect(await refused(fromS3, dead)).toMatch(/: S3 cannot be reached: TypeError: fetch failed 2$/);
  });
});
