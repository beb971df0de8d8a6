/** Settings of a Lambda function from a secret in Secrets Manager. */
import { afterEach, expect, test } from "vitest";
import { addSecrets } from "../../../lib/hosts/lambda/secrets.ts";
import { type AwsEndpoint, startSecretsManager } from "./lambda_aws.ts";

const ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:countersign-AbCdEf";
const started: AwsEndpoint[] = [];
afterEach(() => Promise.all(started.splice(0).map((aws) => aws.stop())));

/** Starts a Secrets Manager with a secret, and returns the environment of a function that reads it. */
async function buildEnvironment(secret: string, arn = ARN): Promise<Record<string, string>> {
  const aws = await startSecretsManager(ARN, () => secret);
  started.push(aws);
  return {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_ENDPOINT_URL_SECRETS_MANAGER: aws.url,
    SVC_ADMIN_TOKEN: "of the environment",
    SVC_SECRETS_ARN: arn,
  };
}

test("settings in the secret override those of the environment", async () => {
  const env = await buildEnvironment('{"SVC_ADMIN_TOKEN":"of the secret","SVC_ADAPTER_SECRET":"s"}');
  expect(await addSecrets(env)).toEqual({ ...env, SVC_ADMIN_TOKEN: "of the secret", SVC_ADAPTER_SECRET: "s" });
});

test("fields that are not settings are ignored: a secret cannot change the function's region", async () => {
  const env = await buildEnvironment('{"AWS_REGION":"us-east-1","PATH":"x","password":1}');
  expect(await addSecrets(env)).toEqual(env);
});

test("without a secret no request is sent", async () => {
  const env = { SVC_ADMIN_TOKEN: "t" };
  expect(await addSecrets(env, () => Promise.reject(new Error("a request was sent")))).toBe(env);
});

test.each([
  ["is not JSON", "hunter2-not-json", /the secret is not JSON$/],
  ["is not a text", '{"SVC_ADMIN_TOKEN":{"hunter2":1}}', /SVC_ADMIN_TOKEN in the secret is not text$/],
])("a secret that %s is rejected, and the error does not contain it", async (_, secret, message) => {
  const error = await addSecrets(await buildEnvironment(secret)).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ name: "SettingInvalid", message: expect.stringMatching(message) });
  expect(String(error)).not.toContain("hunter2");
});

test("a missing secret or a service that does not respond is reported", async () => {
  await expect(addSecrets(await buildEnvironment("{}", `${ARN}x`))).rejects.toThrow(
    "SVC_SECRETS_ARN: Secrets Manager answers ResourceNotFoundException",
  );
  const unreachable = { ...(await buildEnvironment("{}")), AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://127.0.0.1:9" };
  await expect(addSecrets(unreachable)).rejects.toThrow(/^SVC_SECRETS_ARN: Secrets Manager cannot be reached/);
});

test("a connection that broke while the instance was halted is opened again", async () => {
  let sent = 0;
  const env = await buildEnvironment('{"SVC_ADMIN_TOKEN":"of the secret"}');
  const send: typeof fetch = (...request) =>
    ++sent === 1 ? Promise.reject(new TypeError("fetch failed")) : fetch(...request);
  expect(await addSecrets(env, send)).toMatchObject({ SVC_ADMIN_TOKEN: "of the secret" });
  expect(sent).toBe(2);
});

test("a response that is not JSON is reported by its status", async () => {
  const env = await buildEnvironment("{}");
  const send = async () => new Response("<html>hunter2</html>", { status: 502 });
  const error = await addSecrets(env, send).catch(String);
  expect(error).toContain("Secrets Manager answers 502");
  expect(error).not.toContain("hunter2");
});
