/** Numbers, durations and times in the locale of the reader's browser; the texts are English. */

/** Returns the first supported locale; some browsers list invalid ones such as `en-US@posix`. */
function findUsableLocale(candidates: readonly string[]): string {
  const usable = candidates.find((locale) => {
    try {
      return Intl.NumberFormat.supportedLocalesOf(locale).length > 0;
    } catch {
      return false;
    }
  });
  return usable ?? "en-GB";
}

/** Node has a `navigator` too, whose locale must not decide the texts of tests. */
const navigatorInBrowser: Partial<Navigator> | undefined = globalThis.document && globalThis.navigator;

export const LOCALE = findUsableLocale(navigatorInBrowser?.languages ?? []);

const largeFormat = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 2 });
const smallFormat = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 6 });
const tenthsFormat = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const percentFormat = new Intl.NumberFormat(LOCALE, { style: "percent" });
const dateTimeFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const timeFormat = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });

/** `12,345.6`: at most two decimals from 1,000 on, and at most six significant digits below. */
export const formatNumber = (value: number): string =>
  (Math.abs(value) < 1000 ? smallFormat : largeFormat).format(value);

/** `+0.05`, `−0.01` or `0`. */
export const formatSigned = (value: number): string =>
  value > 0 ? `+${formatNumber(value)}` : formatNumber(value).replace("-", "−");

/** `83%`; `null` is "no data". */
export const formatPercent = (part: number | null): string => (part === null ? "no data" : percentFormat.format(part));

/** `1 person`, `40 people`. */
export const formatPeople = (count: number): string => (count === 1 ? "1 person" : `${formatNumber(count)} people`);

/** `1 change`, `4 changes`. */
export const formatCount = (count: number, singular: string, plural = `${singular}s`): string =>
  `${formatNumber(count)} ${count === 1 ? singular : plural}`;

/** `20 Nov 2026, 14:03`, in the reader's own time zone. */
export const formatDateTime = (at: string | number): string => dateTimeFormat.format(new Date(at));

/** `2026-11-20T14:03` in the reader's own time zone, as a field for date and time takes it. */
export const formatInputTime = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** `14:03`. */
export const formatTime = (at: number): string => timeFormat.format(at);

/** `20 Nov`. */
export const formatDay = (at: number): string => dayFormat.format(at);

/** Returns a message of the service with the times in it as people read them. */
export const localizeTimes = (message: string): string =>
  message.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, formatDateTime);

/** Adds a full stop unless the sentence has an end. */
export const endSentence = (sentence: string): string => (/[.!?]"?$/.test(sentence) ? sentence : `${sentence}.`);

/** `512 B`, `4.2 kB`, `1.3 MB`. */
export function formatBytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const [size, unit] = count < 1e6 ? [count / 1e3, "kB"] : [count / 1e6, "MB"];
  return `${tenthsFormat.format(size)} ${unit}`;
}

const UNITS: [number, string][] = [
  [86_400_000, "day"],
  [3_600_000, "h"],
  [60_000, "min"],
];

/** `less than a minute`, `3 min`, `5 h`, `2 days`. */
export function formatDuration(ms: number): string {
  for (const [size, unit] of UNITS)
    if (ms >= size) {
      const count = Math.floor(ms / size);
      return unit === "day" && count > 1 ? `${count} days` : `${count} ${unit}`;
    }
  return "less than a minute";
}

/** `3 min ago`, `in 5 h`, `just now`. */
export function formatRelativeTime(at: string | number, now: number): string {
  const ms = now - new Date(at).getTime();
  if (Math.abs(ms) < 60_000) return "just now";
  return ms > 0 ? `${formatDuration(ms)} ago` : `in ${formatDuration(-ms)}`;
}

/** The first eight characters of a hash; a text of up to twelve, such as a short name, is shown complete. */
export const shortenHash = (hash: string): string => (hash.length > 12 ? `${hash.slice(0, 8)}…` : hash);

/** The first four and last eight characters of a long id: ids of the same minute begin alike. */
export const shortenId = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id);

/** JSON with line breaks; "" for undefined. */
export const formatJson = (json: unknown): string => JSON.stringify(json, null, 2) ?? "";
