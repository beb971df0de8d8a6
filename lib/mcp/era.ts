/**
 * The two eras of the protocol. Up to version 2025-11-25 a client begins with the handshake `initialize`; from 2026-07-28 each
 * request names its version in `_meta` and in its headers. Both are served without a session.
 */
import { decodeBase64 } from "../kit/base64.ts";
import { isObject, type Message, RPC, RpcError } from "./jsonrpc.ts";

/** Protocol versions of the newer era, newest first. */
export const MODERN_VERSIONS = ["2026-07-28"] as const;
const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export type Era = "modern" | "legacy";

const META = "io.modelcontextprotocol/";

/** Reads a key of the protocol from `_meta`. */
export function readMeta({ params }: Message, key: string): unknown {
  const meta = params["_meta"];
  return isObject(meta) && Object.hasOwn(meta, META + key) ? meta[META + key] : undefined;
}

const isAmong = (versions: readonly string[], version: unknown): boolean => versions.includes(version as string);

/**
 * Returns the protocol era of a message. Errors: `RpcError` with `unsupportedVersion`; in the newer era also `invalidParams` for an
 * incomplete `_meta`, and `headerMismatch` if the headers do not match the body.
 */
export function findEra({ headers }: Request, message: Message): Era {
  const header = headers.get("mcp-protocol-version");
  // Only the newer era has this key of `_meta`, and the method `server/discover`.
  const version = readMeta(message, "protocolVersion");
  if (version === undefined && !isAmong(MODERN_VERSIONS, header) && message.method !== "server/discover") {
    if (header !== null && !isAmong(LEGACY_VERSIONS, header))
      throw unsupportedVersion(header, [...MODERN_VERSIONS, ...LEGACY_VERSIONS]);
    return "legacy";
  }
  // Notifications have neither `_meta` nor headers of the protocol.
  if (message.id === undefined) return "modern";
  if (typeof version !== "string") throw missingMeta("protocolVersion");
  if (!isObject(readMeta(message, "clientCapabilities"))) throw missingMeta("clientCapabilities");
  requireSame("MCP-Protocol-Version", header, version);
  if (!isAmong(MODERN_VERSIONS, version)) throw unsupportedVersion(version, MODERN_VERSIONS);
  requireSame("Mcp-Method", headers.get("mcp-method"), message.method);
  const nameParameter = NAME_PARAMETERS[message.method];
  const name = nameParameter && message.params[nameParameter];
  if (typeof name === "string") requireSame("Mcp-Name", decodeHeader(headers.get("mcp-name")), name);
  return "modern";
}

/** The parameter that the header `Mcp-Name` repeats, by method. */
const NAME_PARAMETERS: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

const missingMeta = (key: string) => new RpcError(RPC.invalidParams, `params._meta must have ${META}${key}`);

const unsupportedVersion = (requested: string, supported: readonly string[]) =>
  new RpcError(RPC.unsupportedVersion, "Unsupported protocol version", 400, { supported, requested });

function requireSame(header: string, value: string | null, expected: string): void {
  if (value === expected) return;
  const problem = value === null ? "is missing" : "does not match the body";
  throw new RpcError(RPC.headerMismatch, `Header mismatch: ${header} ${problem}`);
}

/** Decodes a header: a value that is not plain ASCII is written as `=?base64?…?=`. */
function decodeHeader(value: string | null): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  if (encoded === undefined) return value;
  const bytes = decodeBase64(encoded);
  return bytes ? new TextDecoder().decode(bytes) : null;
}

/** Returns true for a client of the older era whose version supports links to resources. */
export const supportsLinks = ({ headers }: Request): boolean =>
  isAmong(["2025-11-25", "2025-06-18"], headers.get("mcp-protocol-version"));

/** Returns the version for the answer to a handshake: the client's own if supported, else the newest of the older era. */
export const negotiateVersion = (requested: unknown): string =>
  isAmong(LEGACY_VERSIONS, requested) ? (requested as string) : LEGACY_VERSIONS[0];
