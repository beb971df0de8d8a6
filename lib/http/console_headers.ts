/** The headers of the console's files, wherever they are served from. */

const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';
  base-uri 'none'; form-action 'self'; frame-ancestors 'none'`.replace(/\s+/g, " ");

/** No script but the console's own, no frame around it, no guessing of types, and a fresh look with each visit. */
export const CONSOLE_HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
