import type { AuditEntry, EventType } from "../core/api_types.ts";
import { pretty } from "../core/format.ts";
import { titled } from "../domain/statuses.ts";
import { Code } from "./text.tsx";

const EVENT: Partial<Record<EventType, string>> = { kpi_refreshed: "KPIs fed" };

/** `Change proposed` */
export const eventName = (event: EventType): string => EVENT[event] ?? titled(event);

/** What an entry tells, on asking. */
export function EntryDetail({ entry }: { entry: AuditEntry }) {
  return (
    <details class="inline">
      <summary>Detail</summary>
      <Code label={`Detail of entry ${entry.id}`}>{readable(entry.detail)}</Code>
    </details>
  );
}

/** Detail is JSON text where it carries facts; anything else is shown as it is. */
function readable(detail: string): string {
  try {
    return pretty(JSON.parse(detail));
  } catch {
    return detail;
  }
}
