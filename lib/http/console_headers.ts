/** The headers of the console's files, wherever they are served from. */

const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';
  base-uri 'none'; form-action 'self'; frame-ancestors 'none'`.replace(/\s+/g, " ");

/** No script but the console's own, no frame around it, no guessing of types, and revalidation with each visit. */
export const CONSOLE_HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** A file whose name has the id of its build: another content has another name. */
const HASHED = /-[0-9a-f]{16}\.(?:js|css)$/;

/** Returns the headers of a file by its name. */
export const consoleHeaders = (name: string): Record<string, string> =>
  HASHED.test(name)
    ? { ...CONSOLE_HEADERS, "cache-control": "public, max-age=31536000, immutable" }
    : { ...CONSOLE_HEADERS };
