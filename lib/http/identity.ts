/** The person behind a request, as the host application's log-in or the trusted proxy's header names them. */
import { AppError } from "../kit/errors.ts";
import { INVISIBLE } from "../kit/invisible.ts";
import { once } from "../kit/once.ts";
import { isPersonName, MAX_NAME_LENGTH, normalName } from "../kit/person_name.ts";
import type { HttpDeps } from "./deps.ts";

/** Returns the named person: `""` where none is named, `undefined` where no one names people. Errors: 400 `invalid_identity`. */
export function personOf(deps: HttpDeps, request: Request): string | undefined {
  const { identityHeader, person } = deps;
  const stated = statedPerson(deps, request);
  if (!stated) return stated;
  if (person) return validName(stated, "the host's log-in");
  return validName(headersAreText() ? stated : textOf(stated), `the header ${identityHeader}`);
}

/** Says who names people, for errors. */
export const personSource = ({ identityHeader }: Pick<HttpDeps, "identityHeader">): string =>
  identityHeader ? `the person named in ${identityHeader}` : "the person who is logged in";

/** Returns true where a request names a person, well or badly. */
export const statesPerson = (deps: HttpDeps, request: Request): boolean =>
  (statedPerson(deps, request) ?? "").trim() !== "";

/** The name as it arrived: of a header its bytes, one character each, but on a host that decodes headers itself. */
function statedPerson({ person, identityHeader }: HttpDeps, request: Request): string | undefined {
  if (person) return person(request) ?? "";
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
  const name = normalName(text);
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
