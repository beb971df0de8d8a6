/** Verb that feeds KPIs. */
import { UsageError } from "../exit.ts";
import { readName, sign, SIGNING } from "../signing.ts";
import { formatFacts } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Feeds KPIs. */
export const kpi: Verb = {
  usage: "kpi <name=value...>",
  operation: "POST /api/product/kpi",
  fields: ["actor", "note"],
  options: SIGNING,
  async run(session, { rest, fields, options }) {
    const fedKpis = rest.map(parseKpi);
    const duplicate = fedKpis.find(([name], index) => fedKpis.findIndex(([one]) => one === name) < index);
    if (duplicate) throw new UsageError(`${duplicate[0]} is given twice`);
    const kpis = Object.fromEntries(fedKpis);
    let body: object = { ...fields, ...kpis };
    if (typeof options["key"] === "string") {
      const note = String(fields["note"] ?? "");
      const subject = { decision: "feed_kpis", actor: readName(fields, "actor"), note, kpis } as const;
      body = { ...body, ...(await sign(session, subject, options["key"], options["yes"] === true)) };
    }
    const { accepted, refreshed, E, audit_entry } = await session.client.post("/api/product/kpi", {
      // The names of KPIs come from the intent, so the type of the body cannot list them.
      body: body as never,
    });
    const effectText = refreshed ? "E was computed with them" : "none of them affects E";
    return { text: `${formatFacts({ ...accepted, E })}\n${effectText}, entry ${audit_entry.id}` };
  },
};

function parseKpi(text: string): [name: string, value: number] {
  const [, name, value] = /^([^=]+)=(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/i.exec(text) ?? [];
  if (name === undefined) throw new UsageError(`a KPI is given as name=number, csat=4.5, and not as ${text}`);
  return [name, Number(value)];
}
