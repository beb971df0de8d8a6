/** Reads the keys that a verifier trusts from a file that was stored outside the service, for example an intent. */
import { createHash } from "node:crypto";
import { isObject, parseJson, stringOrUndefined } from "./json.ts";
import { readText, Unreadable } from "./evidence.ts";

/** A key of a person, with the id by which entries name it. */
export type Key = { id: string; public_key: Buffer } & (
  { type: "ssh" } | { type: "webauthn"; credential_id: string; rp_id: string; origins: readonly string[] | undefined }
);

/** Keys by normalized name; a principal may have no keys. */
export type KeysByName = ReadonlyMap<string, readonly Key[]>;

/** White space in names. */
const SPACE = "[\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]+";
const SPACES = new RegExp(SPACE, "g");
const OUTER_SPACE = new RegExp(`^${SPACE}|${SPACE}$`, "g");

/** Joiners, variation selectors and tags: invisible characters in which names that look the same may differ. */
const JOINERS = /\u200c|\u200d|[\ufe0e\ufe0f]|[\u{e0020}-\u{e007f}]/gu;

/**
 * Returns a name in the form in which names are compared: trimmed, NFKC, full case folding, single spaces, no joiners. It is
 * normalized again after the folding, which can leave text that is not.
 */
export const normalizeName = (name: string): string =>
  Array.from(name.normalize("NFKC").replace(OUTER_SPACE, ""), foldCase)
    .join("")
    .normalize("NFKC")
    .replace(SPACES, " ")
    .replace(JOINERS, "");

/** Folds the case of one letter; the upper case on the way unites ß with ss. A dotless i stays as it is, else it would become i. */
const foldCase = (letter: string): string =>
  letter === "\u0131" ? letter : letter.toLowerCase().toUpperCase().toLowerCase();

/** Returns the id of a public key, as `ssh-keygen -l` shows it. */
export const fingerprint = (publicKey: Buffer): string =>
  `SHA256:${createHash("sha256").update(publicKey).digest("base64").replaceAll("=", "")}`;

/** Decodes canonical base64; undefined for an empty text or any other value. */
export function decodeBase64(value: unknown, as: "base64" | "base64url"): Buffer | undefined {
  const bytes = Buffer.from(stringOrUndefined(value) ?? "", as);
  return bytes.length > 0 && bytes.toString(as) === value ? bytes : undefined;
}

/** Parses the keys of principals. Errors: `TypeError` where a member has a wrong type, or two names are the same. */
export function parseKeys(principals: unknown): KeysByName {
  if (!isObject(principals)) throw new TypeError("principals");
  const keys = new Map<string, readonly Key[]>();
  for (const [name, principal] of Object.entries(principals)) {
    if (!isObject(principal) || keys.has(normalizeName(name))) throw new TypeError("principals");
    const own = principal["keys"] ?? [];
    if (!Array.isArray(own)) throw new TypeError("principals");
    keys.set(normalizeName(name), own.map(parsePrincipalKey));
  }
  return keys;
}

function parsePrincipalKey(key: unknown): Key {
  if (!isObject(key)) throw new TypeError("principals");
  const requireText = (name: string): string => {
    const value = key[name];
    if (typeof value !== "string") throw new TypeError("principals");
    return value;
  };
  if (requireText("type") === "ssh") {
    // `<type> <base64> <comment>`, as in a file of ssh-keygen.
    const public_key = decodeBase64(requireText("public_key").split(" ")[1], "base64");
    if (public_key) return { type: "ssh", id: fingerprint(public_key), public_key };
  } else if (requireText("type") === "webauthn") {
    const public_key = decodeBase64(requireText("public_key"), "base64url");
    const origins: unknown = key["origins"] ?? undefined;
    const isList = origins === undefined || (Array.isArray(origins) && origins.every((one) => typeof one === "string"));
    const credential = {
      credential_id: requireText("credential_id"),
      rp_id: requireText("rp_id"),
      origins: origins as string[],
    };
    if (public_key && isList) return { type: "webauthn", id: fingerprint(public_key), public_key, ...credential };
  }
  throw new TypeError("principals");
}

/** Reads the `principals` of a JSON file. Errors: `Unreadable`. */
export function readPolicy(file: string): KeysByName {
  const text = readText(file);
  try {
    const value = parseJson(text.replace(/^\ufeff/, ""));
    if (isObject(value)) return parseKeys(value["principals"]);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new Unreadable(`${file} is not JSON with the principals of an intent`);
}
