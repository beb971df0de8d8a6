/** Days as answers tell them; a moment that is not midnight with its time. */
export const dayIn = (time: string): string =>
  time.endsWith("T00:00:00.000Z") || !time.includes("T")
    ? time.slice(0, 10)
    : `${time.slice(0, 10)} ${time.slice(11, 16)}`;

/** The last day before a moment at which a period ends. */
export function lastDayIn(to: string): string {
  const last = new Date(Date.parse(to) - 1).toISOString();
  return last.endsWith("T23:59:59.999Z") ? last.slice(0, 10) : dayIn(to);
}
