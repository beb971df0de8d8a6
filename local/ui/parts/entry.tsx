import { shorten } from "../../../lib/kit/quote.ts";
import { describe, toSentence } from "../../../lib/wording/describe.ts";
import type { AuditEntry } from "../core/api_types.ts";
import { formatJson } from "../core/format.ts";
import { Code, Sentence } from "./text.tsx";

const MAX_REASON = 200;

/** An entry as a sentence, optionally with its reason, and its detail on demand. */
export function EntryText({ entry, withReason = false }: { entry: AuditEntry; withReason?: boolean }) {
  const { reason, ...described } = describe(entry);
  const shown = typeof reason === "object" ? { ...reason, given: shorten(reason.given, MAX_REASON) } : reason;
  const sentence = toSentence(withReason && shown ? { ...described, reason: shown } : described);
  return (
    <div class="event">
      <span>
        <Sentence parts={sentence} />
      </span>{" "}
      <details class="inline">
        <summary>Detail</summary>
        <Code label={`Detail of entry ${entry.id}`}>{formatDetail(entry.detail)}</Code>
      </details>
    </div>
  );
}

/** Formats a detail that is JSON; any other text is returned unchanged. */
function formatDetail(detail: string): string {
  try {
    return formatJson(JSON.parse(detail));
  } catch {
    return detail;
  }
}
