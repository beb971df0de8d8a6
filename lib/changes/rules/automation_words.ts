/** The automatic apply of a change in words. Without a schema, so that a browser can load it. */
import { minuteText } from "../../kit/days.ts";
import type { Change } from "./change.ts";

/** `applies by itself once approved`, `applies by itself at 2026-12-01 08:00 UTC`; undefined where a person applies it. */
export function describeAutomation({
  apply_when,
  automation_stopped,
}: Partial<Pick<Change, "apply_when" | "automation_stopped">>): string | undefined {
  if (apply_when === undefined || automation_stopped) return undefined;
  return `applies by itself ${apply_when === "approved" ? "once approved" : `at ${minuteText(apply_when)}`}`;
}
