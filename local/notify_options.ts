/** The rules of the options that say where notifications go. */
import type { NotifyFormat } from "../lib/operations/notify/format.ts";
import { isLoopback } from "./option_values.ts";
import { OptionError } from "./secrets.ts";

interface NotifyGiven {
  notifyUrl: string | undefined;
  notifyFormat: NotifyFormat;
  notifySecret: string | undefined;
  warnings: string[];
}

/** Hosts that take one format only, and what it is. */
const TAKERS: readonly (readonly [host: RegExp, format: NotifyFormat, name: string])[] = [
  [/(^|\.)slack(-gov)?\.com$/, "slack", "Slack"],
  [/(^|\.)(webhook\.office\.com|logic\.azure\.(com|us)|api\.powerplatform\.(com|us))$/, "teams", "Teams"],
];

/** Throws where notifications could not be sent, and warns of what nobody would read, or anybody could. */
export function checkNotify(
  { notifyUrl, notifyFormat: format, notifySecret, warnings }: NotifyGiven,
  flags: ReadonlyMap<string, string>,
): void {
  if (notifyUrl === undefined) {
    if (format !== "json") warnings.push("--notify-format has no effect without --notify-url");
    return;
  }
  const { hostname, protocol } = new URL(notifyUrl);
  const [, taken, name] = TAKERS.find(([host]) => host.test(hostname)) ?? [];
  if (format === "json" && !notifySecret) {
    const instead = taken ? `, or --notify-format ${taken} where the address is of ${name}` : "";
    throw new OptionError(`--notify-url needs SVC_NOTIFY_SECRET, which signs what is sent${instead}`, 1);
  }
  if (taken && taken !== format)
    warnings.push(
      `--notify-url is an address of ${name}, which does not read --notify-format ${format}; give --notify-format ${taken}`,
    );
  if (format === "json") return;
  // Such an address lets its holder write to the channel.
  if (flags.has("notify-url"))
    warnings.push("--notify-url shows in the process list, and is a secret; use SVC_NOTIFY_URL or SVC_NOTIFY_URL_FILE");
  if (protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, "")))
    warnings.push("--notify-url is a secret, and http shows it on the way; use https");
}
