import { UsageError } from "../exit.ts";
import { facts } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Feeds KPIs. */
export const kpi: Verb = {
  usage: "kpi <name=value...>",
  operation: "POST /api/product/kpi",
  fields: ["actor", "note"],
  async run({ client }, { rest, fields }) {
    const fedKpis = rest.map(fed);
    const twice = fedKpis.find(([name], index) => fedKpis.findIndex(([one]) => one === name) < index);
    if (twice) throw new UsageError(`${twice[0]} is given twice`);
    const body = { ...fields, ...Object.fromEntries(fedKpis) };
    const { accepted, refreshed, E, audit_entry } = await client.post("/api/product/kpi", { body });
    const moved = refreshed ? "E takes them in" : "none of them counts in E";
    return { text: `${facts({ ...accepted, E })}\n${moved}, entry ${audit_entry.id}` };
  },
};

function fed(text: string): [name: string, value: number] {
  const [, name, value] = /^([^=]+)=(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/i.exec(text) ?? [];
  if (name === undefined) throw new UsageError(`a KPI is given as name=number, csat=4.5, and not as ${text}`);
  return [name, Number(value)];
}
