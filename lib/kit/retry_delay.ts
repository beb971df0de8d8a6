/** Returns the pause in `Retry-After` (seconds or a date), in milliseconds; undefined if there is none. */
export function readRetryDelay({ headers }: Response, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  // `Date.parse` of another text is NaN, which is not above 0.
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return ms > 0 ? ms : undefined;
}
