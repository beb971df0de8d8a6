/** The automatic apply of a change in words. Without a schema, so that a browser can load it. */
import { minuteText } from "../../kit/days.ts";
import type { Change } from "./change.ts";

/**
 * Describes the automatic apply, such as `applies by itself at 2026-12-01 08:00 UTC`; undefined if a person applies the change.
 * A change that still waits for consent after its time must be applied by a person; the text says so only if `now` is given,
 * in milliseconds since the epoch.
 */
export function describeAutomation(
  { apply_when, automation_stopped, status }: Partial<Pick<Change, "apply_when" | "automation_stopped" | "status">>,
  now = -Infinity,
): string | undefined {
  if (apply_when === undefined || automation_stopped) return undefined;
  if (apply_when === "approved") return "applies by itself once approved";
  const time = minuteText(apply_when);
  if (status === "pending_consent" && Date.parse(apply_when) <= now)
    return `was to apply by itself at ${time}; that time has passed, so a person applies it`;
  return `applies by itself at ${time}`;
}
