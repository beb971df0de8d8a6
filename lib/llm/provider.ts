/** Names and addresses of providers, in a file without clients, so that a check loads none. */

/** Returns true for the name of a known provider. */
export const isNamedProvider = (text: unknown): boolean => text === "openai" || text === "anthropic";

/** The rule for a base URL, to follow the name of its setting. */
export const BASE_URL_RULE = "must be an http or https address without user, password, ? and #";

/** Returns true for a text that can be a base URL. Since a key is sent to it, unusual addresses are rejected. */
export function isBaseUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]+[^?#]*$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}
