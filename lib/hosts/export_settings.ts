/** Settings of the audit export on a serverless host; they have the names that `ui_server` uses. */
import { logsAddress, readExportHeaders } from "../operations/audit_export/options.ts";
import type { AuditExportOptions } from "../operations/audit_export/sender.ts";
import { SettingInvalid } from "./settings.ts";

/** Reads `SVC_AUDIT_OTLP` and `SVC_AUDIT_OTLP_HEADERS`. Errors: `SettingInvalid`, whose message contains neither value. */
export function readExport(env: Readonly<Record<string, unknown>>): AuditExportOptions | undefined {
  const { SVC_AUDIT_OTLP: url, SVC_AUDIT_OTLP_HEADERS: headers } = env;
  if (typeof url !== "string" || url === "") return undefined;
  if (!/^https?:\/\/[^?#@]+$/i.test(url) || !URL.canParse(url))
    throw new SettingInvalid("SVC_AUDIT_OTLP must be an http or https address without a password, ? and #");
  try {
    return { url: logsAddress(url), headers: readExportHeaders(typeof headers === "string" ? headers : "") };
  } catch (error) {
    throw new SettingInvalid(`SVC_AUDIT_OTLP_HEADERS ${(error as Error).message}`);
  }
}
