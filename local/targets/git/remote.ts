/** The repository's address and credentials, and the environment in which git uses them and no other settings. */
import { resolve } from "node:path";

/** Address and credentials of a repository. */
export interface RemoteOptions {
  /** `https://…`, `ssh://user@…`, `file:///…` or an absolute path; `http://…` only on this machine. Holds no password. */
  url: string;
  /** Private key for an ssh address, and a file with the server's host key; an ssh address needs both. */
  sshKeyFile?: string | undefined;
  knownHostsFile?: string | undefined;
  /** Password of an https address: `token`, or `user:token` where the server wants a user name. */
  token?: string | undefined;
  /** Private key that signs commits (SSH, without a passphrase). */
  signingKey?: string | undefined;
}

/** A checked address, and the environments for git. */
export interface Remote {
  url: string;
  /** Missing objects are an error. */
  env: Record<string, string>;
  /** Missing objects are fetched, since the clone has only those contents of files that were read. */
  fetchingEnv: Record<string, string>;
}

/** The clone fetches commits and folders; contents of files when they are read. */
const PARTIAL = [
  ["remote.origin.promisor", "true"],
  ["remote.origin.partialCloneFilter", "blob:none"],
] as const;

const NOT_AN_ADDRESS = "url must be https://…, ssh://user@host/…, file:///… or an absolute path";
const HOST = /^(?:[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:]+\])$/i;
const USER = /^(?:\w[\w.-]*)?$/;
/** Printable ASCII without what a shell, a config file or a URL parser could read as more. */
const PLAIN = /^[\w/.:@~%+=,[\]-]+$/;
const LOOPBACK = /^(?:localhost|\[::1\]|127(?:\.\d+){3})$/;

/** Returns the scheme of a usable address; throws `TypeError`. */
function parseScheme(url: string): string {
  if (!PLAIN.test(url)) throw new TypeError(NOT_AN_ADDRESS);
  if (url.startsWith("/")) return "file";
  if (!/^(?:https?|ssh|file):\/\//.test(url) || !URL.canParse(url)) throw new TypeError(NOT_AN_ADDRESS);
  const { protocol, hostname, username, password } = new URL(url);
  const scheme = protocol.slice(0, -1);
  if (password !== "" || (username !== "" && scheme !== "ssh"))
    throw new TypeError("url must hold no user and password; use the token");
  if (scheme === "file" ? hostname !== "" : !HOST.test(hostname) || !USER.test(username))
    throw new TypeError(NOT_AN_ADDRESS);
  if (scheme === "http" && !LOOPBACK.test(hostname)) throw new TypeError("url must be https; http is for this machine");
  return scheme;
}

/** Returns the absolute path, which can stand in an option of ssh without quotes; throws `TypeError`. */
function resolvePlainPath(option: string, path: string): string {
  const absolute = resolve(path);
  // ssh expands % and splits at spaces and quotation marks, and git passes the command to a shell.
  if (!/^[\w/.+,=@-]+$/.test(absolute)) throw new TypeError(`${option} must be a path of letters, digits and /._+,=@-`);
  return absolute;
}

function sshCommand({ sshKeyFile, knownHostsFile }: RemoteOptions): string {
  if (sshKeyFile === undefined || knownHostsFile === undefined)
    throw new TypeError("an ssh address needs sshKeyFile and knownHostsFile");
  const options = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    `UserKnownHostsFile=${resolvePlainPath("knownHostsFile", knownHostsFile)}`,
    "GlobalKnownHostsFile=/dev/null",
    "IdentitiesOnly=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
  ];
  const flags = options.map((option) => `-o ${option}`).join(" ");
  return `ssh -F /dev/null ${flags} -i ${resolvePlainPath("sshKeyFile", sshKeyFile)}`;
}

/** Checks address and credentials; throws `TypeError` with a sentence for people, which holds no secret. */
export function parseRemote(options: RemoteOptions): Remote {
  const { url, token, signingKey } = options;
  const scheme = parseScheme(url);
  const isHttp = scheme === "https" || scheme === "http";
  if (token !== undefined && (!isHttp || !/^[!-~]+$/.test(token)))
    throw new TypeError("token must be printable ASCII, and is for an https address");
  // Disables hooks, attribute files, credential helpers, redirects, maintenance, and all schemes but that of the address.
  const config: [key: string, value: string][] = [
    ["core.hooksPath", "/dev/null"],
    ["core.fsmonitor", "false"],
    ["core.attributesFile", "/dev/null"],
    ["protocol.allow", "never"],
    [`protocol.${scheme}.allow`, "always"],
    ["credential.helper", ""],
    ["http.followRedirects", "false"],
    ["http.lowSpeedLimit", "1"],
    ["http.lowSpeedTime", "20"],
    ["fetch.fsckObjects", "true"],
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
    // Otherwise git guesses that new files belong into a folder that was renamed.
    ["merge.directoryRenames", "false"],
    ["remote.origin.url", url],
  ];
  if (token !== undefined) {
    // GitHub documents this user name for tokens; for a server that wants another, the token contains the name.
    const credentials = token.includes(":") ? token : `x-access-token:${token}`;
    config.push([`http.${url}.extraHeader`, `Authorization: Basic ${Buffer.from(credentials).toString("base64")}`]);
  }
  if (signingKey !== undefined) config.push(["gpg.format", "ssh"], ["user.signingKey", resolve(signingKey)]);
  const base = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: "/dev/null",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_NO_REPLACE_OBJECTS: "1",
    ...(scheme === "ssh" && { GIT_SSH_COMMAND: sshCommand(options), GIT_SSH_VARIANT: "ssh" }),
  };
  return {
    url,
    env: { ...base, ...configEnv(config) },
    fetchingEnv: { ...base, ...configEnv([...config, ...PARTIAL]) },
  };
}

/** Settings as environment variables, which no list of processes shows. */
function configEnv(config: readonly (readonly [key: string, value: string])[]): Record<string, string> {
  const pairs = config.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(config.length), ...Object.fromEntries(pairs) };
}
