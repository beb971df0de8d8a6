/** Returns the pause that `Retry-After` asks for, in milliseconds; it is in seconds or a date. */
export function requestedPause({ headers }: Response, now: number): number | undefined {
  const asked = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d{1,9}$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - now;
  return ms > 0 ? ms : undefined;
}
