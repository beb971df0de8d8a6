/**
 * The two eras of the protocol. Until 2025-11-25 a client shakes hands with `initialize`; from 2026-07-28 each request says in
 * `_meta` and in its headers what it speaks. Both are served without a session.
 */
import { decodeBase64 } from "../kit/base64.ts";
import { isObject, type Message, RPC, RpcError } from "./jsonrpc.ts";

/** Newest first. */
export const MODERN = ["2026-07-28"] as const;
const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export type Era = "modern" | "legacy";

const META = "io.modelcontextprotocol/";

/** Reads a key of the protocol from `_meta`. */
export function readMeta({ params }: Message, key: string): unknown {
  const meta = params["_meta"];
  return isObject(meta) && Object.hasOwn(meta, META + key) ? meta[META + key] : undefined;
}

const among = (versions: readonly string[], version: unknown): boolean => versions.includes(version as string);

/**
 * Returns the protocol era of a message. Errors: `RpcError` with `unsupportedVersion`, and in the newer era `invalidParams` for
 * an incomplete
 * `_meta` and `headerMismatch` where the headers say something else than the body.
 */
export function findEra({ headers }: Request, message: Message): Era {
  const header = headers.get("mcp-protocol-version");
  const version = readMeta(message, "protocolVersion");
  if (version === undefined && !among(MODERN, header) && message.method !== "server/discover") {
    if (header !== null && !among(LEGACY, header)) throw unsupported(header, [...MODERN, ...LEGACY]);
    return "legacy";
  }
  // A notification carries neither.
  if (message.id === undefined) return "modern";
  if (typeof version !== "string") throw incomplete("protocolVersion");
  if (!isObject(readMeta(message, "clientCapabilities"))) throw incomplete("clientCapabilities");
  requireSame("MCP-Protocol-Version", header, version);
  if (!among(MODERN, version)) throw unsupported(version, MODERN);
  requireSame("Mcp-Method", headers.get("mcp-method"), message.method);
  const named = NAMED_BY[message.method];
  const name = named && message.params[named];
  if (typeof name === "string") requireSame("Mcp-Name", decoded(headers.get("mcp-name")), name);
  return "modern";
}

const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

const incomplete = (key: string) => new RpcError(RPC.invalidParams, `params._meta must have ${META}${key}`);

const unsupported = (requested: string, supported: readonly string[]) =>
  new RpcError(RPC.unsupportedVersion, "Unsupported protocol version", 400, { supported, requested });

function requireSame(header: string, given: string | null, wanted: string): void {
  if (given === wanted) return;
  const why = given === null ? "is missing" : "does not match the body";
  throw new RpcError(RPC.headerMismatch, `Header mismatch: ${header} ${why}`);
}

/** A name that is no plain ASCII comes as `=?base64?…?=`. */
function decoded(value: string | null): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  if (encoded === undefined) return value;
  const bytes = decodeBase64(encoded);
  return bytes ? new TextDecoder().decode(bytes) : null;
}

/** Returns true where a client of the older era speaks a version that has links to resources. */
export const knowsLinks = ({ headers }: Request): boolean =>
  among(["2025-11-25", "2025-06-18"], headers.get("mcp-protocol-version"));

/** The version that a handshake is answered with: the client's own, or the newest that has handshakes. */
export const agreed = (asked: unknown): string => (among(LEGACY, asked) ? (asked as string) : LEGACY[0]);
