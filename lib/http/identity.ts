/** The person behind a request, as the host application's log-in or the trusted proxy's header names them. */
import type { VerifiedPerson } from "../identity/person_token.ts";
import { TokenRejected } from "../identity/token_rejected.ts";
import { AppError } from "../kit/errors.ts";
import { INVISIBLE } from "../kit/invisible.ts";
import { once } from "../kit/once.ts";
import { isPersonName, MAX_NAME_LENGTH, normalizeName } from "../kit/person_name.ts";
import type { HttpDeps } from "./deps.ts";
import { logAtIntervals } from "./log_at_intervals.ts";

/** The result of a token's verification. */
type Verified = VerifiedPerson | { refused: string };

const verified = new WeakMap<Request, Verified>();

/** Verifies a request's token where people are named by tokens; until then it names nobody. Never rejects. */
export async function verifyPerson(deps: HttpDeps, request: Request): Promise<void> {
  const { identityToken, person } = deps;
  const token = person ? undefined : identityToken && request.headers.get(identityToken.header);
  if (!identityToken || !token || verified.has(request)) return;
  try {
    verified.set(request, await identityToken.verify(token));
  } catch (error) {
    const { message, detail = message } = error as Partial<TokenRejected> & Error;
    verified.set(request, { refused: error instanceof TokenRejected ? message : "it cannot be verified" });
    logAtIntervals(deps, "a proxy's token was refused", { header: identityToken.header, reason: detail });
  }
}

/** Returns the person's groups at the identity provider where a verified token names them; otherwise undefined. */
export function tokenGroups(request: Request): readonly string[] | undefined {
  const found = verified.get(request);
  return found && "groups" in found ? found.groups : undefined;
}

/** Says why a request's token names nobody; undefined where it carries none. */
export function tokenProblem(request: Request): string | undefined {
  const found = verified.get(request);
  return found && "refused" in found ? found.refused : undefined;
}

/** Returns the named person: `""` where none is named, `undefined` where no one names people. Errors: 400 `invalid_identity`. */
export function findPerson(deps: HttpDeps, request: Request): string | undefined {
  const { identityHeader, identityToken, person } = deps;
  const stated = statedPerson(deps, request);
  if (!stated) return stated;
  if (person) return validName(stated, "the host's log-in");
  if (identityToken) return validName(stated, `the token in the header ${identityToken.header}`);
  return validName(headersAreText() ? stated : textOf(stated), `the header ${identityHeader}`);
}

/** Says who names people, for errors. */
export const personSource = ({ identityHeader, identityToken }: HttpDeps): string =>
  identityToken
    ? `the person named by the token in ${identityToken.header}`
    : identityHeader
      ? `the person named in ${identityHeader}`
      : "the person who is logged in";

/** Returns true where a request names a person, well or badly. */
export const statesPerson = (deps: HttpDeps, request: Request): boolean =>
  (statedPerson(deps, request) ?? "").trim() !== "";

/** The name as it arrived: of a header its bytes, one character each, but on a host that decodes headers itself. */
function statedPerson({ person, identityHeader, identityToken }: HttpDeps, request: Request): string | undefined {
  if (person) return person(request) ?? "";
  if (identityToken) {
    const found = verified.get(request);
    return found && "name" in found ? found.name : "";
  }
  return identityHeader ? (request.headers.get(identityHeader) ?? "") : undefined;
}

/**
 * Returns true on a host whose header values are text that it has decoded from UTF-8, as on Workers. By the Fetch standard each
 * character is one byte, and a character that is none is rejected.
 */
const headersAreText = once((): boolean => {
  try {
    return new Headers({ name: "\u0100" }).has("name");
  } catch {
    return false;
  }
});

/** Decodes the bytes of a header from UTF-8; malformed bytes become U+FFFD, which no name may contain. */
function textOf(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes) || /[^\0-\xff]/.test(bytes)) return bytes;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    Uint8Array.from(bytes, (character) => character.charCodeAt(0)),
  );
}

function validName(text: string, source: string): string {
  const name = normalizeName(text);
  const problem = problemWith(name);
  if (problem === undefined) return name;
  throw new AppError(
    "invalid_identity",
    `${source} must name one person, once and in UTF-8, in place of what the client sent; its value ${problem}`,
  );
}

function problemWith(name: string): string | undefined {
  if (name.includes("\ufffd") || !name.isWellFormed()) return "is not valid UTF-8";
  if (name.includes(",")) return "has a comma: it was sent twice, or names several people";
  if (INVISIBLE.test(name)) return "contains an invisible character";
  if (name.length > MAX_NAME_LENGTH) return `has more than ${MAX_NAME_LENGTH} characters`;
  return name === "" || isPersonName(name) ? undefined : "begins with a prefix that no person's name has";
}
