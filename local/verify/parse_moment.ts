/** Parses a time as the service writes it to milliseconds; NaN for any other, and where the calendar has no such time. */
export function parseMoment(text: string): number {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text ? ms : NaN;
}
