/** The command that lists what a query asks for. */
import type { ChangeFilter } from "../../pulse/query/filter.ts";

/** The command, or `undefined` where the list takes only one of what the query has several of. */
export function howToList(filter: ChangeFilter): string | undefined {
  const { person, period, drifted, ...plain } = filter;
  const fields: Record<string, unknown> = {
    ...plain,
    person: person?.name,
    role: person?.as,
    drifted: drifted === undefined ? undefined : String(drifted),
    emergency: plain.emergency === undefined ? undefined : String(plain.emergency),
    event: period?.of,
    from: period?.from,
    to: period?.to,
  };
  const options = Object.entries(fields).flatMap(([name, value]) => {
    const values = value === undefined ? [] : [value].flat();
    return values.map((one) => ({ name, text: String(one), only: values.length === 1 }));
  });
  if (options.some(({ only, name }) => !only || name === "change_id")) return undefined;
  const told = options.map(({ name, text }) => ` --${name.replaceAll("_", "-")} ${shellWord(text)}`);
  return `countersign list${told.join("")}`;
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
