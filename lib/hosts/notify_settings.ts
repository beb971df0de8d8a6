/** Settings of notifications on a serverless host; they have the names that `ui_server` uses. */
import { parseWebhookKey } from "../kit/webhook_signature.ts";
import { NOTIFY_FORMATS, type NotifyFormat } from "../operations/notify/format.ts";
import type { NotifyOptions } from "../operations/notify/notification_sender.ts";
import { SettingInvalid } from "./settings.ts";

/**
 * Reads `SVC_NOTIFY_URL`, `SVC_NOTIFY_FORMAT` and `SVC_NOTIFY_SECRET`; undefined without an address. Errors: `SettingInvalid`,
 * whose message contains no value.
 */
export function readNotifyOptions(settings: Readonly<Record<string, unknown>>): NotifyOptions | undefined {
  const text = (name: string): string => (typeof settings[name] === "string" ? settings[name] : "");
  const [url, secret] = [text("SVC_NOTIFY_URL"), text("SVC_NOTIFY_SECRET")];
  if (url === "") return undefined;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new SettingInvalid("SVC_NOTIFY_URL must be an http or https address");
  const format = (text("SVC_NOTIFY_FORMAT") || "json") as NotifyFormat;
  if (!NOTIFY_FORMATS.includes(format))
    throw new SettingInvalid(`SVC_NOTIFY_FORMAT must be ${NOTIFY_FORMATS.join(", ")}`);
  if (format !== "json") return { url, format };
  if (secret === "")
    throw new SettingInvalid(
      "SVC_NOTIFY_URL needs SVC_NOTIFY_SECRET, which signs what is sent, or SVC_NOTIFY_FORMAT slack or teams",
    );
  try {
    parseWebhookKey(secret);
  } catch (error) {
    throw new SettingInvalid(`SVC_NOTIFY_SECRET ${(error as Error).message}`);
  }
  return { url, format, secret };
}
