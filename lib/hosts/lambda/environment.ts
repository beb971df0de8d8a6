/** Reads the variables of a Lambda function. */
import type { AwsCredentials } from "../../store/dynamodb/aws.ts";
import { SettingInvalid } from "../settings.ts";

/** The environment of a function. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the value of a required variable. Errors: `SettingInvalid`. */
export function requireVariable(env: Environment, name: string): string {
  const value = env[name];
  if (!value) throw new SettingInvalid(`${name} is not set`);
  return value;
}

/** The region the function runs in. */
export const readRegion = (env: Environment): string => requireVariable(env, "AWS_REGION");

/** The keys of the function's role. */
export const readCredentials = (env: Environment): AwsCredentials => ({
  accessKeyId: requireVariable(env, "AWS_ACCESS_KEY_ID"),
  secretAccessKey: requireVariable(env, "AWS_SECRET_ACCESS_KEY"),
  sessionToken: env["AWS_SESSION_TOKEN"],
});

/** Returns the path prefix of the API with one leading slash, such as `/governance`; empty for none. */
export function readBasePath(env: Environment): string {
  const name = (env["SVC_BASE_PATH"] ?? "").replace(/^\/+|\/+$/g, "");
  return name === "" ? "" : `/${name}`;
}
