/** Verb that finds changes by a query. */
import type { Schema } from "../../../lib/client/client.ts";
import { UsageError } from "../exit.ts";
import { formatTable } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

/** Finds changes by a query; without one it lists the saved questions and the fields. */
export const find: Verb = {
  usage: "find [query...]",
  operation: "GET /api/find",
  summary: "Changes that a query finds; without a query: saved questions and fields",
  fields: ["limit", "after", "tz", "person"],
  options: { "--saved <name>": "a saved question, such as waiting-for-me" },
  async run(session, { rest, fields, options: { saved } }) {
    if (rest.length === 0 && saved === undefined) return { text: await listSaved(session) };
    if (rest.length > 0 && saved !== undefined) throw new UsageError("give a query or --saved, not both");
    const { client, columns, say } = session;
    const q = saved === undefined ? rest.join(" ") : await findSavedQuery(session, `${saved}`);
    const query = { limit: 50, ...fields, q } as never;
    const result = await client.get("/api/find", { params: { query } });
    const { rows, total, next, groups, timed, median, max } = result;
    say(`${result.query === "" ? "every change" : result.query}: ${total}`);
    if (next !== null) say(`${rows.length} shown; the next: --after ${next}`);
    if (median != null && max != null)
      say(`median ${formatDuration(median)}, longest ${formatDuration(max)}, over ${timed} of ${total}`);
    const groupTable =
      groups.length > 0
        ? formatTable(
            ["count", "of"],
            groups.map(({ key, count }) => [String(count), key]),
            columns,
          )
        : "";
    return {
      text: [groupTable, rows.length === 0 ? "no changes" : rowsTable(rows, columns)].filter(Boolean).join("\n\n"),
    };
  },
};

const rowsTable = (rows: readonly Schema<"FoundChange">[], columns: number | undefined): string => {
  const isTimed = rows.some(({ seconds }) => seconds !== undefined);
  return formatTable(
    ["change", "status", "risk", "reach", ...(isTimed ? ["took"] : []), "tenant", "target", "summary"],
    rows.map((row) => [
      row.change_id,
      row.resolution ?? row.status,
      row.unstated?.includes("risk") ? "-" : row.risk,
      row.affected_users === null ? "-" : String(row.affected_users),
      ...(isTimed ? [row.seconds == null ? "-" : formatDuration(row.seconds)] : []),
      row.tenant_id,
      row.target,
      row.summary,
    ]),
    columns,
    // A narrow terminal omits these columns, in this order.
    ["reach", "risk", "tenant"],
  );
};

/** Formats a duration in its two largest units. */
function formatDuration(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
}

async function findSavedQuery({ client }: Session, name: string): Promise<string> {
  const { saved } = await client.get("/api/find/saved");
  const question = saved.find(({ id, title }) => [id, title.en, title.zh].includes(name));
  if (question) return question.query;
  throw new UsageError(`there is no saved question ${name}; countersign find lists them`);
}

async function listSaved({ client, columns }: Session): Promise<string> {
  const { saved, fields } = await client.get("/api/find/saved");
  const questions = saved.map(({ id, title, query }) => [id, title.en, query]);
  const words = fields.map(({ field, takes, values }) => [
    `${field}:`,
    takes === "words"
      ? values.join(", ")
      : `${takes}${values.length > 0 ? `, such as ${values.slice(0, 3).join(", ")}` : ""}`,
  ]);
  return `${formatTable(["name", "question", "query"], questions, columns)}\n\n${formatTable(["field", "takes"], words, columns)}`;
}
