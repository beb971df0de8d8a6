/** The same request as a command, for whoever works without this console. */
import { address, type Fields } from "../core/api.ts";

/** Text as one word of a POSIX shell. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A form sent with curl. The token is named by its variable and never written out. */
export function curlPost(
  path: string,
  fields: Fields,
  { revision, token }: { revision?: number; token: boolean },
): string {
  const lines = [`curl ${quoted(address(path))}`];
  if (token) lines.push(`-H "X-Svc-Admin-Token: $SVC_ADMIN_TOKEN"`);
  if (revision !== undefined) lines.push(`-H 'If-Match: "${revision}"'`);
  for (const [name, given] of Object.entries(fields))
    if (given !== undefined) lines.push(`--data-urlencode ${quoted(`${name}=${given}`)}`);
  return lines.join(" \\\n  ");
}

/** A reading with curl. */
export const curlGet = (path: string): string => `curl ${quoted(address(path))}`;
