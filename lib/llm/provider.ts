/** Which words and addresses name a provider. Apart from the clients, so that nothing is loaded for it. */

/** Whether a text is one of the providers that are known by name. */
export const isNamedProvider = (text: unknown): boolean => text === "openai" || text === "anthropic";

/** How a base URL has to be, as a sentence goes on after its name. */
export const BASE_URL_RULE = "must be an http or https address without user, password, ? and #";

/** Whether a text is an address that a protocol's own paths can follow. A key goes there: what is odd is refused. */
export function isBaseUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]+[^?#]*$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}
