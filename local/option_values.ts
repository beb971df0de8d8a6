/** How the text of an option is read. Each reader throws an Error whose message is the rule: "must be …". */
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

/** Any text of one line. */
export function text(value: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || value.trim() === "") throw new Error("must be one line of text");
  return value;
}

/** Returns whether `--state` names a database, not a file. */
export const isDatabase = (state: string): boolean => /^postgres(ql)?:\/\//i.test(state);

/** A path, or the address of a database. What only looks like an address is refused: it may hold a password. */
export function stateAddress(value: string): string {
  if (!/^([a-z][a-z0-9+.-]+:\/\/|postgres(ql)?:)/i.test(value)) return text(value);
  if (!isDatabase(value) || !URL.canParse(value))
    throw new Error("must be a path, or an address as postgres://user:password@host:port/database");
  const { pathname, search, hash } = new URL(value);
  // A password with a plain slash in it would end the address early, and be taken for the name of a database.
  if (`${pathname}${search}${hash}`.includes("@"))
    throw new Error("must have the special characters of its password percent-encoded: / is %2F, ? is %3F, # is %23");
  return value;
}

/** Parses the name of a store in a database. */
export function storeName(value: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value)) return value;
  throw new Error("must be up to 100 letters, digits, dots, dashes and underscores, a letter or digit first");
}

/** A whole number from `min` to `max`, decimal digits only. */
export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d{1,15}$/.test(value) || number < min || number > max)
      throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
}

/** Seconds, fractions allowed, up to a day (a longer timer would overflow and fire at once). */
export function seconds(value: string): number {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(value) || Number(value) > 86400)
    throw new Error("must be a number of seconds from 0 to 86400");
  return Number(value);
}

/** An address to send to: https, or http. */
export function url(value: string): string {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) {
    const { username, password } = new URL(value);
    if (username === "" && password === "") return value;
  }
  throw new Error("must be an http or https URL without a user name or password in it");
}

/** Parses the address of a page without query and fragment: https, or http. */
export function address(value: string): string {
  const { search, hash, origin, pathname } = new URL(url(value));
  if (search !== "" || hash !== "") throw new Error("must be an address without ? and #");
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** Parses the base of the paths of a language model's provider. */
export function llmBaseUrl(value: string): string {
  if (isBaseUrl(value)) return value;
  throw new Error(BASE_URL_RULE);
}

/** One of these words. */
export function choice<T extends string>(words: readonly T[]): (value: string) => T {
  return (value) => {
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    throw new Error(`must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);
  };
}

/** Items between commas, each read by `item`; none may be empty. */
export function commaList<T>(item: (value: string) => T): (value: string) => T[] {
  return (value) => value.split(",").map((part) => item(part.trim()));
}

/** An IP address, with or without brackets, or a host name; no port. */
export function hostAddress(value: string): string {
  const bare = value.startsWith("[") && value.endsWith("]") ? value.slice(1, -1) : value;
  if (isIP(bare) || (bare === value && isHostName(value))) return bare;
  throw new Error("must be an IP address or a host name, without a port");
}

/** A name that `Host` may carry, in lower case; no port. */
export function hostName(value: string): string {
  if (isIP(value) || isHostName(value)) return value.toLowerCase();
  throw new Error("must be host names separated by commas, without ports");
}

const isHostName = (value: string): boolean =>
  value.length <= 253 && /^(?!\d+(\.\d+)*$)[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(value);

/** `host:port`, an IPv6 address in brackets. */
export function peerAddress(value: string): PeerAddress {
  const [, bracketed, plain, port = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = bracketed ?? plain ?? "";
  const named = bracketed !== undefined ? isIPv6(host) : isIP(host) !== 0 || isHostName(host);
  if (!named || Number(port) < 1 || Number(port) > 65535)
    throw new Error("must be host:port pairs separated by commas, an IPv6 address in brackets");
  return { host, port: Number(port) };
}

/** A secret of the link; several are separated by commas. */
export function secret(value: string): string {
  if (value === "") throw new Error("must not hold an empty secret; secrets are separated by commas");
  const problem = findSecretProblem(value);
  if (problem) throw new Error(problem);
  return value;
}

/** The name of an HTTP header, in lower case. */
export function headerName(value: string): string {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(value)) throw new Error("must be the name of an HTTP header");
  return value.toLowerCase();
}

/** The name of an environment variable. */
export function variableName(value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(value))
    throw new Error("must be the name of an environment variable (letters, digits and _), not the key itself");
  return value;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Returns whether an address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** The verifier key of a witness, of the type of Ed25519 cosignatures. */
export function witnessKey(value: string): VerifierKey {
  const key = parseVerifierKey(value, sha256, COSIGNATURE);
  if (key) return key;
  throw new Error("must be verifier keys of Ed25519 cosignatures, <name>+<key id>+<base64>, separated by commas");
}

/** The name of a key in signed notes. */
export function keyName(value: string): string {
  if (/^[^\s+\p{C}]{1,200}$/u.test(value)) return value;
  throw new Error("must be a name without spaces and +, best an address such as witness.example/w1");
}
