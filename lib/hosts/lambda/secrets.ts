/** Settings that must not stand in a function's configuration, from AWS Secrets Manager. */
import { askAws } from "../../store/dynamodb/aws.ts";
import { SettingRefused } from "../settings.ts";
import { type Environment, readCredentials, readRegion } from "./environment.ts";

const ANSWER_MS = 3000;

/**
 * The environment, and over it what the secret `SVC_SECRETS_ARN` holds: a JSON object of settings by their names
 * (`SVC_ADMIN_TOKEN`, `SVC_ADAPTER_SECRET`, …). Errors: `SettingRefused`, which never repeats what the secret holds.
 */
export async function withSecrets(env: Environment, send: typeof fetch = fetch): Promise<Environment> {
  const arn = env["SVC_SECRETS_ARN"];
  if (!arn) return env;
  return { ...env, ...settingsIn(await secretText(env, arn, send)) };
}

async function secretText(env: Environment, SecretId: string, send: typeof fetch): Promise<string> {
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
  const ask = async () => {
    const response = await askAws(request, readCredentials(env), send);
    // A proxy may answer without JSON; its body is not repeated.
    const answer: unknown = await response.json().catch(() => undefined);
    return { status: response.status, body: Object(answer) as Record<string, unknown> };
  };
  // A connection that was kept while the instance was halted may be dead, which shows when it is used.
  const { status, body } = await ask()
    .catch(ask)
    .catch((error: unknown) => refuse(`Secrets Manager cannot be reached: ${String(error)}`));
  if (status !== 200) return refuse(`Secrets Manager answers ${String(body["__type"] ?? status)}`);
  const text = body["SecretString"];
  return typeof text === "string" ? text : refuse("the secret is not text");
}

function settingsIn(text: string): Record<string, string> {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    return refuse("the secret is not JSON");
  }
  const named = Object.entries(settings ?? {}).filter(([name]) => name.startsWith("SVC_"));
  for (const [name, value] of named) if (typeof value !== "string") return refuse(`${name} in the secret is not text`);
  return Object.fromEntries(named) as Record<string, string>;
}

function refuse(reason: string): never {
  throw new SettingRefused(`SVC_SECRETS_ARN: ${reason}`);
}
