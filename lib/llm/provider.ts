/** Which words and addresses name a provider. Apart from the clients, so that nothing is loaded for it. */

/** Returns whether a text is one of the providers that are known by name. */
export const isNamedProvider = (text: unknown): boolean => text === "openai" || text === "anthropic";

/** How a base URL has to be, as a sentence goes on after its name. */
export const BASE_URL_RULE = "must be an http or https address without user, password, ? and #";

/** Returns whether a text can be the base of a protocol's own paths. A key is sent there: an odd address is rejected. */
export function isBaseUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]+[^?#]*$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}
