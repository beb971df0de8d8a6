/** Fetches secret settings from AWS Secrets Manager. */
import { askAws } from "../../store/dynamodb/aws.ts";
import { SettingInvalid } from "../settings.ts";
import { type Environment, readCredentials, readRegion } from "./environment.ts";

const ANSWER_MS = 3000;

/**
 * Returns the environment with the settings in the secret `SVC_SECRETS_ARN`: a JSON object of settings by name
 * (`SVC_ADMIN_TOKEN`, `SVC_ADAPTER_SECRET`, …). Errors: `SettingInvalid`, whose message never contains a value.
 */
export async function addSecrets(env: Environment, send: typeof fetch = fetch): Promise<Environment> {
  const arn = env["SVC_SECRETS_ARN"];
  if (!arn) return env;
  return { ...env, ...parseSecret(await fetchSecret(env, arn, send)) };
}

async function fetchSecret(env: Environment, SecretId: string, send: typeof fetch): Promise<string> {
  const region = readRegion(env);
  const request = {
    service: "secretsmanager",
    region,
    url: env["AWS_ENDPOINT_URL_SECRETS_MANAGER"] || `https://secretsmanager.${region}.amazonaws.com/`,
    target: "secretsmanager.GetSecretValue",
    version: "1.1",
    body: JSON.stringify({ SecretId }),
    limit: ANSWER_MS,
  } as const;
  const requestSecret = async () => {
    const response = await askAws(request, readCredentials(env), send);
    // A proxy may answer without JSON; an error then names the status and not the body.
    const answer: unknown = await response.json().catch(() => undefined);
    return { status: response.status, body: Object(answer) as Record<string, unknown> };
  };
  // A connection from before the instance was halted may be dead, so the first failure is retried.
  const { status, body } = await requestSecret()
    .catch(requestSecret)
    .catch((error: unknown) => reject(`Secrets Manager cannot be reached: ${String(error)}`));
  if (status !== 200) return reject(`Secrets Manager answers ${String(body["__type"] ?? status)}`);
  const text = body["SecretString"];
  return typeof text === "string" ? text : reject("the secret is not text");
}

function parseSecret(text: string): Record<string, string> {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    return reject("the secret is not JSON");
  }
  const entries = Object.entries(settings ?? {}).filter(([name]) => name.startsWith("SVC_"));
  for (const [name, value] of entries)
    if (typeof value !== "string") return reject(`${name} in the secret is not text`);
  return Object.fromEntries(entries) as Record<string, string>;
}

function reject(reason: string): never {
  throw new SettingInvalid(`SVC_SECRETS_ARN: ${reason}`);
}
