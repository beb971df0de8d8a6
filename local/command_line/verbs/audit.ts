/** Verbs for the audit log. */
import { formatEntry, formatTable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Lists a page of entries. */
export const auditList: Verb = {
  usage: "audit list",
  operation: "GET /api/product/audit",
  summary: "Entries of the audit log, the newest ones in chain order",
  fields: ["limit", "before", "after", "order", "change_id", "tenant_id", "tenant", "event_type"],
  async run({ client, columns, say }, { fields }) {
    const query = { limit: 50, ...fields };
    const { entries, next, length } = await client.get("/api/product/audit", { params: { query } });
    if (next !== null)
      say(
        `${entries.length} of ${length}; further ones: --${fields["after"] === undefined ? "before" : "after"} ${next}`,
      );
    const rows = entries.map((entry) => [
      ...[String(entry.id), entry.timestamp, entry.change_id, entry.tenant],
      ...[entry.current_hash.slice(0, 12), formatEntry(entry)],
    ]);
    return {
      text: formatTable(["entry", "at", "change", "tenant", "hash", "event"], rows, columns, ["hash", "tenant"]),
    };
  },
};

/** Verifies the log. */
export const auditVerify: Verb = {
  usage: "audit verify",
  operation: "GET /api/product/audit/verify",
  fields: ["expected_length", "expected_head"],
  async run({ client }, { fields }) {
    const verdict = await client.get("/api/product/audit/verify", { params: { query: fields } });
    const { valid, length, head, reason, losses, not_checked } = verdict;
    const lossText = losses
      .map(({ entry, at, actor, message }) => `\nentry ${entry}, ${at}: ${actor} accepted that ${message}`)
      .join("");
    const uncheckedText =
      not_checked.length === 0
        ? ""
        : `\nnot checked: ${not_checked.join(", ")}; pass --expected-length and --expected-head`;
    return valid
      ? { text: `valid: ${length} entries, head ${head}${lossText}${uncheckedText}` }
      : { text: `not valid: ${reason}${lossText}${uncheckedText}`, exit: "refused" };
  },
};

/** Exports the complete log, for `countersign verify`. */
export const auditExport: Verb = {
  usage: "audit export",
  operation: "GET /api/product/audit",
  summary: "The complete audit log as JSON lines, or as CSV",
  fields: ["contents"],
  options: { "--csv": "as CSV", "--output <file>": "write to this file instead of the output" },
  plain: true,
  async run({ client, save }, { fields, options: { csv, output } }) {
    const query = { ...fields, format: csv === true ? "csv" : "jsonl" } as const;
    await save(await client.download("/api/product/audit", { params: { query } }), output as string | undefined);
    return {};
  },
};
