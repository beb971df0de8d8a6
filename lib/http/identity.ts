/** Finds the person behind a request, by the host application's log-in or the trusted proxy's header. */
import type { VerifiedPerson } from "../identity/person_token.ts";
import { TokenRejected } from "../identity/token_rejected.ts";
import { AppError } from "../kit/errors.ts";
import { INVISIBLE } from "../kit/invisible.ts";
import { once } from "../kit/once.ts";
import { isPersonName, MAX_NAME_LENGTH, normalizeName } from "../kit/person_name.ts";
import type { HttpDeps } from "./deps.ts";
import { logAtIntervals } from "./log_at_intervals.ts";

/** The result of a token's verification. */
type VerifiedToken = VerifiedPerson | { refused: string };

const verifiedTokens = new WeakMap<Request, VerifiedToken>();

/** Verifies a request's token if tokens name people; before that the request names nobody. Never rejects. */
export async function verifyPerson(deps: HttpDeps, request: Request): Promise<void> {
  const { identityToken, person } = deps;
  const token = person ? undefined : identityToken && request.headers.get(identityToken.header);
  if (!identityToken || !token || verifiedTokens.has(request)) return;
  try {
    verifiedTokens.set(request, await identityToken.verify(token));
  } catch (error) {
    // `message` is for the sender, `detail` for the log; other errors than `TokenRejected` have no `detail`.
    const { message, detail = message } = error as Partial<TokenRejected> & Error;
    verifiedTokens.set(request, { refused: error instanceof TokenRejected ? message : "it cannot be verified" });
    logAtIntervals(deps, "a proxy's token was refused", { header: identityToken.header, reason: detail });
  }
}

/** Returns the person's groups at the identity provider; undefined without a verified token. */
export function findTokenGroups(request: Request): readonly string[] | undefined {
  const verified = verifiedTokens.get(request);
  return verified && "groups" in verified ? verified.groups : undefined;
}

/** Explains why a request's token names nobody; undefined without a rejected token. */
export function findTokenProblem(request: Request): string | undefined {
  const verified = verifiedTokens.get(request);
  return verified && "refused" in verified ? verified.refused : undefined;
}

/** Returns the person: `""` if none is named, `undefined` if this service has no source of names. Errors: 400 `invalid_identity`. */
export function findPerson(deps: HttpDeps, request: Request): string | undefined {
  const { identityHeader, identityToken, person } = deps;
  const statedName = readStatedPerson(deps, request);
  if (!statedName) return statedName;
  if (person) return requireValidName(statedName, "the host's log-in");
  if (identityToken) return requireValidName(statedName, `the token in the header ${identityToken.header}`);
  return requireValidName(headersAreText() ? statedName : decodeHeader(statedName), `the header ${identityHeader}`);
}

/** Describes the source of names in words, for errors. */
export function describePersonSource({ identityHeader, identityToken }: HttpDeps): string {
  if (identityToken) return `the person named by the token in ${identityToken.header}`;
  return identityHeader ? `the person named in ${identityHeader}` : "the person who is logged in";
}

/** Returns true if a request names a person, validly or not. */
export const hasStatedPerson = (deps: HttpDeps, request: Request): boolean =>
  (readStatedPerson(deps, request) ?? "").trim() !== "";

/** Reads the name as it arrived: a header has one character for each byte, unless the host decodes headers itself. */
function readStatedPerson({ person, identityHeader, identityToken }: HttpDeps, request: Request): string | undefined {
  if (person) return person(request) ?? "";
  if (identityToken) {
    const verified = verifiedTokens.get(request);
    return verified && "name" in verified ? verified.name : "";
  }
  return identityHeader ? (request.headers.get(identityHeader) ?? "") : undefined;
}

/**
 * Returns true on a host that decodes header values from UTF-8, as Workers do. By the Fetch standard each character is one
 * byte, and other characters are rejected.
 */
const headersAreText = once((): boolean => {
  try {
    return new Headers({ name: "\u0100" }).has("name");
  } catch {
    return false;
  }
});

/** Decodes the bytes of a header from UTF-8; malformed bytes become U+FFFD, which no name may contain. */
function decodeHeader(bytes: string): string {
  // ASCII is UTF-8 already, and a character beyond one byte means that these are no bytes.
  if (!/[\x80-\xff]/.test(bytes) || /[^\0-\xff]/.test(bytes)) return bytes;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    Uint8Array.from(bytes, (character) => character.charCodeAt(0)),
  );
}

function requireValidName(text: string, source: string): string {
  const name = normalizeName(text);
  const problem = findNameProblem(name);
  if (problem === undefined) return name;
  throw new AppError(
    "invalid_identity",
    `${source} must name one person, once and in UTF-8, in place of what the client sent; its value ${problem}`,
  );
}

function findNameProblem(name: string): string | undefined {
  if (name.includes("\ufffd") || !name.isWellFormed()) return "is not valid UTF-8";
  if (name.includes(",")) return "has a comma: it was sent twice, or names several people";
  if (INVISIBLE.test(name)) return "contains an invisible character";
  if (name.length > MAX_NAME_LENGTH) return `has more than ${MAX_NAME_LENGTH} characters`;
  // An empty name is valid: nobody is named.
  return name === "" || isPersonName(name) ? undefined : "begins with a prefix that no person's name has";
}
