/** Checks the options for notifications. */
import type { NotifyFormat } from "../lib/operations/notify/format.ts";
import { isLoopback } from "./option_values.ts";
import { OptionError } from "./secrets.ts";

/** Options for notifications; warnings are added to `warnings`. */
interface NotifyOptions {
  notifyUrl: string | undefined;
  notifyFormat: NotifyFormat;
  notifySecret: string | undefined;
  warnings: string[];
}

/** Hosts that accept only one format. */
const SINGLE_FORMAT_HOSTS: readonly (readonly [host: RegExp, format: NotifyFormat, name: string])[] = [
  [/(^|\.)slack(-gov)?\.com$/, "slack", "Slack"],
  [/(^|\.)(webhook\.office\.com|logic\.azure\.(com|us)|api\.powerplatform\.(com|us))$/, "teams", "Teams"],
];

/** Adds warnings about ineffective or insecure options. Errors: `OptionError` where notifications could not be signed. */
export function checkNotifyOptions(
  { notifyUrl, notifyFormat: format, notifySecret, warnings }: NotifyOptions,
  flags: ReadonlyMap<string, string>,
): void {
  if (notifyUrl === undefined) {
    if (format !== "json") warnings.push("--notify-format has no effect without --notify-url");
    return;
  }
  const { hostname, protocol } = new URL(notifyUrl);
  const [, requiredFormat, name] = SINGLE_FORMAT_HOSTS.find(([host]) => host.test(hostname)) ?? [];
  if (format === "json" && !notifySecret) {
    const instead = requiredFormat ? `, or --notify-format ${requiredFormat} where the address is of ${name}` : "";
    throw new OptionError(`--notify-url needs SVC_NOTIFY_SECRET, which signs what is sent${instead}`, 1);
  }
  if (requiredFormat && requiredFormat !== format)
    warnings.push(
      `--notify-url is an address of ${name}, which does not read --notify-format ${format}; give --notify-format ${requiredFormat}`,
    );
  if (format === "json") return;
  // Anybody who has such an address can write to the channel.
  if (flags.has("notify-url"))
    warnings.push("--notify-url shows in the process list, and is a secret; use SVC_NOTIFY_URL or SVC_NOTIFY_URL_FILE");
  if (protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, "")))
    warnings.push("--notify-url is a secret, and http shows it on the way; use https");
}
