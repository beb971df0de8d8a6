/** Parses the values of options. Each parser throws an Error whose message is the rule: "must be …". */
import { BlockList, isIP, isIPv6 } from "node:net";
import { COSIGNATURE, parseVerifierKey, type VerifierKey } from "../lib/audit/note.ts";
import { BASE_URL_RULE, isBaseUrl } from "../lib/llm/provider.ts";
import { sha256 } from "./node_ports.ts";
import { findSecretProblem } from "./secrets.ts";

/** A peer of the cross-host link. */
export interface PeerAddress {
  host: string;
  port: number;
}

/** Parses text of one line. */
export function parseText(value: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || value.trim() === "") throw new Error("must be one line of text");
  return value;
}

/** Checks that `--state` names a database, not a file. */
export const isDatabase = (state: string): boolean => /^postgres(ql)?:\/\//i.test(state);

/** Parses a path, or the address of a database. A malformed address is rejected and not taken for a path: it may have a password. */
export function parseStateAddress(value: string): string {
  if (!/^([a-z][a-z0-9+.-]+:\/\/|postgres(ql)?:)/i.test(value)) return parseText(value);
  if (!isDatabase(value) || !URL.canParse(value))
    throw new Error("must be a path, or an address as postgres://user:password@host:port/database");
  const { pathname, search, hash } = new URL(value);
  // An unencoded slash in a password would end the host, and the rest would be taken for the name of a database.
  if (`${pathname}${search}${hash}`.includes("@"))
    throw new Error("must have the special characters of its password percent-encoded: / is %2F, ? is %3F, # is %23");
  return value;
}

/** Parses the name of a store in a database. */
export function parseStoreName(value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value)) return value;
  throw new Error("must be up to 100 letters, digits, dots, dashes and underscores, a letter or digit first");
}

/** Creates a parser of integers from `min` to `max`, in decimal digits. */
export function createIntegerParser(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    // A number represents each integer of up to 15 digits exactly.
    if (!/^\d{1,15}$/.test(value) || number < min || number > max)
      throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
}

/** Parses seconds, with up to three decimals, at most a day. */
export function parseSeconds(value: string): number {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(value) || Number(value) > 86400)
    throw new Error("must be a number of seconds from 0 to 86400");
  return Number(value);
}

/** Parses an https or http URL. */
export function parseUrl(value: string): string {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) {
    const { username, password } = new URL(value);
    if (username === "" && password === "") return value;
  }
  throw new Error("must be an http or https URL without a user name or password in it");
}

/** Parses an https or http URL without query and fragment; slashes at its end are removed. */
export function parsePageUrl(value: string): string {
  const { search, hash, origin, pathname } = new URL(parseUrl(value));
  if (search !== "" || hash !== "") throw new Error("must be an address without ? and #");
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** Parses the base URL of a language model's provider. */
export function parseLlmBaseUrl(value: string): string {
  if (isBaseUrl(value)) return value;
  throw new Error(BASE_URL_RULE);
}

/** Creates a parser that accepts one of these words. */
export function createChoiceParser<T extends string>(words: readonly T[]): (value: string) => T {
  return (value) => {
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    throw new Error(`must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);
  };
}

/** Creates a parser of items between commas. */
export function createListParser<T>(parseItem: (value: string) => T): (value: string) => T[] {
  return (value) => value.split(",").map((part) => parseItem(part.trim()));
}

/** Parses an IP address, with or without brackets, or a host name, without a port. */
export function parseHostAddress(value: string): string {
  const bare = value.startsWith("[") && value.endsWith("]") ? value.slice(1, -1) : value;
  if (isIP(bare) || (bare === value && isHostName(value))) return bare;
  throw new Error("must be an IP address or a host name, without a port");
}

/** Parses a name for the `Host` header, without a port; returns it in lower case. */
export function parseHostName(value: string): string {
  if (isIP(value) || isHostName(value)) return value.toLowerCase();
  throw new Error("must be host names separated by commas, without ports");
}

// Numbers and dots alone are no host name, but a malformed IP address.
const isHostName = (value: string): boolean =>
  value.length <= 253 && /^(?!\d+(\.\d+)*$)[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(value);

/** Parses `host:port`; an IPv6 address is in brackets. */
export function parsePeerAddress(value: string): PeerAddress {
  const [, bracketed, plain, port = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = bracketed ?? plain ?? "";
  const isValidHost = bracketed !== undefined ? isIPv6(host) : isIP(host) !== 0 || isHostName(host);
  if (!isValidHost || Number(port) < 1 || Number(port) > 65535)
    throw new Error("must be host:port pairs separated by commas, an IPv6 address in brackets");
  return { host, port: Number(port) };
}

/** Parses a secret of the link. */
export function parseSecret(value: string): string {
  if (value === "") throw new Error("must not have an empty secret; secrets are separated by commas");
  const problem = findSecretProblem(value);
  if (problem) throw new Error(problem);
  return value;
}

/** Parses the name of an HTTP header; returns it in lower case. */
export function parseHeaderName(value: string): string {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(value)) throw new Error("must be the name of an HTTP header");
  return value.toLowerCase();
}

/** Parses the name of an environment variable. */
export function parseVariableName(value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(value))
    throw new Error("must be the name of an environment variable (letters, digits and _), not the key itself");
  return value;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Checks that an address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Parses the verifier key of a witness, for Ed25519 cosignatures. */
export function parseWitnessKey(value: string): VerifierKey {
  const key = parseVerifierKey(value, sha256, COSIGNATURE);
  if (key) return key;
  throw new Error("must be verifier keys of Ed25519 cosignatures, <name>+<key id>+<base64>, separated by commas");
}

/** Parses the name of a key in signed notes. */
export function parseKeyName(value: string): string {
  if (/^[^\s+\p{C}]{1,200}$/u.test(value)) return value;
  throw new Error("must be a name without spaces and +, best an address such as witness.example/w1");
}
