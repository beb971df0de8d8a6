/** Reads the address of the service and the credentials, and creates the client. */
import { type Client, createClient } from "../../lib/client/client.ts";
import { isLoopback } from "../option_values.ts";
import { type Environment, OptionError, readSecret, readSecretFromFile } from "../secrets.ts";
import { UsageError } from "./exit.ts";

/** Address of a service that is started without options. */
export const DEFAULT_URL = "http://127.0.0.1:8420";

/** The options of every verb. */
export const CONNECTION = {
  "--url <url>": `of the service [${DEFAULT_URL}, SVC_URL]`,
  "--token-file <path>": "file with the admin token [SVC_ADMIN_TOKEN_FILE, SVC_ADMIN_TOKEN]",
  "--agent-token-file <path>":
    "file with the secret of an agent, which proposes and reads [SVC_AGENT_TOKEN_FILE, SVC_AGENT_TOKEN]",
} as const;

/** Values of these options. */
export interface ConnectionOptions {
  url?: string | undefined;
  tokenFile?: string | undefined;
  agentTokenFile?: string | undefined;
}

/** A client of the service, its address, and credentials that are not a person's. */
export interface ServiceConnection {
  client: Client;
  url: string;
  /** The secret of an agent, or else the read token; `countersign mcp` sends it as a bearer token. */
  bearer: string | undefined;
  /** Kind of the token that is sent. */
  token: "admin" | "agent" | "read" | undefined;
}

/** Creates the client from options and environment. Errors: `UsageError`. */
export function connect(
  { url: urlOption, tokenFile, agentTokenFile }: ConnectionOptions,
  env: Environment,
  fetch: (request: Request) => Promise<Response>,
  warn: (sentence: string) => void,
): ServiceConnection {
  const url = parseAddress(urlOption ?? (env["SVC_URL"] || DEFAULT_URL));
  const admin = readSecretOption("--token-file", tokenFile, "SVC_ADMIN_TOKEN", env);
  const agent = readSecretOption("--agent-token-file", agentTokenFile, "SVC_AGENT_TOKEN", env);
  // No option has the read token, only the variable.
  const read = readSecretOption("", undefined, "SVC_READ_TOKEN", env);
  if (admin !== undefined && agent !== undefined)
    throw new UsageError(
      "an admin token and an agent's secret are given: an agent's secret needs no other token; give one",
    );
  const headers = {
    ...(admin && { "X-Svc-Admin-Token": admin }),
    ...(agent && { Authorization: `Bearer ${agent}` }),
    ...(read && { "X-Svc-Read-Token": read }),
  };
  // A URL has an IPv6 address in brackets.
  if (Object.keys(headers).length > 0 && url.protocol === "http:" && !isLoopback(url.hostname.replaceAll(/[[\]]/g, "")))
    warn(`${url.origin} is reached without TLS: others on the way can read the token`);
  const baseUrl = url.href.replace(/\/$/, "");
  const token = admin ? "admin" : agent ? "agent" : read ? "read" : undefined;
  return { client: createClient({ baseUrl, headers, fetch }), url: baseUrl, bearer: agent ?? read, token };
}

function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new UsageError(`--url must be an http or https URL, not ${text}`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError("--url must be an address alone, without a name, a password, a query or a fragment");
  return url;
}

/** Reads a secret from a file or a variable; never from an argument, which every user of the machine could read. */
function readSecretOption(
  flag: string,
  file: string | undefined,
  variable: string,
  env: Environment,
): string | undefined {
  try {
    const secret = file === undefined ? readSecret(env, variable) : readSecretFromFile(file, flag);
    if (secret === undefined || /^[\x21-\x7e]+$/.test(secret)) return secret;
  } catch (error) {
    if (error instanceof OptionError) throw new UsageError(error.message);
    throw error;
  }
  throw new UsageError(
    `${file === undefined ? variable : `${flag} ${file}`} must hold visible ASCII characters and no spaces`,
  );
}
