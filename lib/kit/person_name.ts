/** Names of people as requests and proxies carry them. */

/** In characters, as a name is recorded. */
export const MAX_NAME_LENGTH = 200;

/** Prefixes of names that the service itself, an intent or an identity provider gives. */
const RESERVED = /^(?:llm|policy|mandate|idp|group):/i;

/** A name as it is recorded: NFKC, trimmed. */
export const normalizeName = (name: string): string => name.normalize("NFKC").trim();

/** Returns true for a name that, however it is spelt, has a prefix which no client may use for a person. */
export const isReservedName = (name: string): boolean => RESERVED.test(normalizeName(name));

/** Returns true for a name that a person can have: not reserved, nor a peer's or an agent's. */
export const isPersonName = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/i.test(normalizeName(name));
