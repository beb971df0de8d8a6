/** Fetches a product intent from a parameter of SSM or an object in S3. */
import { AwsV4Signer } from "aws4fetch";
import { readCappedText } from "../../kit/capped_text.ts";
import { askAws } from "../../store/dynamodb/aws.ts";
import { SettingInvalid } from "../settings.ts";
import { readCredentials, type Environment, readRegion } from "./environment.ts";

const ANSWER_MS = 3000;

/** Bytes: an intent has 256 KB at most, and the answer that contains it has a little more. */
const MAX_ANSWER_BYTES = 256 * 1024 + 4096;

/** `ssm:` and a parameter's name, which has at most 1011 characters. */
const SSM = /^ssm:(\/[\w./-]{1,1010})$/;
/** `s3://`, a bucket's name of 3 to 63 characters, and the key of an object. */
const S3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/[\w.-]+(?:\/[\w.-]+)*)$/;

/** Causes by the error code of AWS. */
const REASONS: Readonly<Record<string, string>> = {
  ParameterNotFound: "there is no such parameter in the function's account and region",
  NoSuchKey: "there is no such object in the bucket",
  NoSuchBucket: "there is no such bucket",
  AccessDeniedException: "the function may not read it: its role needs ssm:GetParameter on it",
  AccessDenied: "it is not there, or the function may not read it: its role needs s3:GetObject on it",
  PermanentRedirect: "the bucket is in another region than the function",
};

/**
 * Returns the environment with `SVC_PRODUCT_INTENT_JSON` fetched from the address `SVC_PRODUCT_INTENT`: `ssm:/name` or
 * `s3://bucket/key`. Errors: `SettingInvalid`, which names the address and the remedy.
 */
export async function addIntent(env: Environment, send: typeof fetch = fetch): Promise<Environment> {
  const address = env["SVC_PRODUCT_INTENT"];
  if (!address) return env;
  if (env["SVC_PRODUCT_INTENT_JSON"])
    throw new SettingInvalid(
      "SVC_PRODUCT_INTENT and SVC_PRODUCT_INTENT_JSON are both set: an intent comes from one place",
    );
  const source = parseAddress(address);
  const reject = (reason: string): never => {
    throw new SettingInvalid(`SVC_PRODUCT_INTENT ${address}: ${reason}`);
  };
  const fetchIntent = async () => {
    const answer = await source.request(env, send);
    return { status: answer.status, text: await readCappedText(answer, MAX_ANSWER_BYTES) };
  };
  // A connection from before the instance was halted may be dead, so the first failure is retried.
  const { status, text } = await fetchIntent()
    .catch(fetchIntent)
    .catch((error: unknown) => reject(`${source.name} cannot be reached: ${String(error)}`));
  // A text over the maximum is not read.
  if (text === undefined) return reject("it has more than 256 KB, which no intent has");
  if (status !== 200)
    return reject(REASONS[findErrorCode(text)] ?? `${source.name} answers ${findErrorCode(text) || status}`);
  const intent = source.readIntent(text) ?? reject(`${source.name} answers without a value`);
  return { ...env, SVC_PRODUCT_INTENT_JSON: intent };
}

/** A service that stores an intent. */
interface IntentSource {
  name: "SSM" | "S3";
  request(env: Environment, send: typeof fetch): Promise<Response>;
  readIntent(answer: string): string | undefined;
}

function parseAddress(address: string): IntentSource {
  const parameter = SSM.exec(address)?.[1];
  if (parameter)
    return { name: "SSM", request: (env, send) => requestParameter(env, parameter, send), readIntent: readParameter };
  const object = S3.exec(address)?.[1];
  if (object)
    return { name: "S3", request: (env, send) => requestObject(env, object, send), readIntent: (text) => text };
  throw new SettingInvalid(
    "SVC_PRODUCT_INTENT must be ssm:/name or s3://bucket/key, of letters, digits, dots, hyphens, underscores and slashes; the JSON itself goes into SVC_PRODUCT_INTENT_JSON",
  );
}

/** Requests a parameter, which has 4 KB at most, or 8 KB if it is an advanced one. */
const requestParameter = (env: Environment, Name: string, send: typeof fetch): Promise<Response> => {
  const region = readRegion(env);
  const request = {
    service: "ssm",
    region,
    url: env["AWS_ENDPOINT_URL_SSM"] || `https://ssm.${region}.amazonaws.com/`,
    target: "AmazonSSM.GetParameter",
    version: "1.1",
    body: JSON.stringify({ Name, WithDecryption: true }),
    limit: ANSWER_MS,
  } as const;
  return askAws(request, readCredentials(env), send);
};

/** Requests an object. The bucket is part of the path, since a name with dots in the host matches no certificate. */
async function requestObject(env: Environment, path: string, send: typeof fetch): Promise<Response> {
  const region = readRegion(env);
  const origin = env["AWS_ENDPOINT_URL_S3"] || `https://s3.${region}.amazonaws.com`;
  const { accessKeyId, secretAccessKey, sessionToken } = readCredentials(env);
  const url = `${origin.replace(/\/$/, "")}/${path}`;
  const access = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const { headers } = await new AwsV4Signer({ url, service: "s3", region, ...access }).sign();
  return send(url, { headers, redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) });
}

/** Returns the error code, which SSM sends in JSON and S3 in XML; empty if there is none. */
const findErrorCode = (text: string): string =>
  (/"__type"\s*:\s*"(?:[^"]*#)?(\w+)"/.exec(text) ?? /<Code>(\w+)<\/Code>/.exec(text))?.[1] ?? "";

function readParameter(text: string): string | undefined {
  try {
    const { Parameter } = JSON.parse(text) as { Parameter?: { Value?: unknown } };
    return typeof Parameter?.Value === "string" ? Parameter.Value : undefined;
  } catch {
    return undefined;
  }
}
