import type { AuditEntry } from "../core/api_types.ts";
import { brief } from "../core/format.ts";
import { CopyButton } from "./copy.tsx";

/** What the service signed for: the entry's number and hash. Kept outside, it shows later that nothing was cut or rewritten. */
export const Receipt = ({ entry }: { entry: AuditEntry }) => (
  <p class="receipt">
    Receipt: entry {entry.id}, <code title={entry.current_hash}>{brief(entry.current_hash)}</code>{" "}
    <CopyButton label="Copy receipt" text={JSON.stringify(entry)} />
  </p>
);
