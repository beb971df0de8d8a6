/** Headers of the console's files, on every host. */

const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';
  base-uri 'none'; form-action 'self'; frame-ancestors 'none'`.replace(/\s+/g, " ");

/** Only the console's own scripts, no framing, no type sniffing, and revalidation at each visit. */
export const CONSOLE_HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** Names that contain a hash of the content. */
const HASHED = /-[0-9a-f]{16}\.(?:js|css)$/;

/** Returns the headers of a file by its name. */
export const consoleHeaders = (name: string): Record<string, string> =>
  HASHED.test(name)
    ? { ...CONSOLE_HEADERS, "cache-control": "public, max-age=31536000, immutable" }
    : { ...CONSOLE_HEADERS };
