/** Rules for names of people in requests and from proxies. */

/** Maximum length of a recorded name, in characters. */
export const MAX_NAME_LENGTH = 200;

/** Prefixes of names that the service, an intent or an identity provider assigns. */
const RESERVED = /^(?:llm|policy|mandate|idp|group):/i;

/** Normalizes a name as it is recorded: NFKC, trimmed. */
export const normalizeName = (name: string): string => name.normalize("NFKC").trim();

/** Returns true for a name with a prefix that no client may use for a person, in any spelling. */
export const isReservedName = (name: string): boolean => RESERVED.test(normalizeName(name));

/** Returns true for a name that a person can have: neither reserved nor the name of a peer or an agent. */
export const isPersonName = (name: string): boolean =>
  !isReservedName(name) && !/^(?:peer|agent):/i.test(normalizeName(name));
