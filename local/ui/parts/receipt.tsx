import type { AuditEntry } from "../core/api_types.ts";
import { shortenHash } from "../core/format.ts";
import { CopyButton } from "./button.tsx";

/** Receipt of the service: the entry's number and hash. Stored outside, it shows later that nothing was cut or rewritten. */
export const Receipt = ({ entry }: { entry: AuditEntry }) => (
  <p class="receipt">
    Receipt: entry {entry.id}, <code title={entry.current_hash}>{shortenHash(entry.current_hash)}</code>{" "}
    <CopyButton label="Copy receipt" text={JSON.stringify(entry)} />
  </p>
);
