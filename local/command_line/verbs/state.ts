/** Verb that shows the state of the service. */
import { formatFacts, formatTable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Shows effect, memory, reliability and need, tasks, freeze and goals. */
export const state: Verb = {
  usage: "state",
  operation: "GET /api/state",
  async run({ client }) {
    const { E, M, R, N, tick, tasks, freeze, goals, as_of } = await client.get("/api/state");
    const share = (value: number | null) => (value === null ? "unknown" : `${Math.round(value * 100)} %`);
    const facts = {
      ...{ "E, effect": share(E), "M, memory": share(M), "R, reliability": share(R), "N, need": share(N) },
      ...{ tasks: `${tasks.queued} queued, ${tasks.failed} failed`, cycle: tick, "as of": as_of },
      frozen: freeze && (freeze.until ? `until ${freeze.until}` : "yes"),
    };
    const rows = goals.map((goal) =>
      [goal.kpi, goal.current, goal.baseline, goal.target].map((cell) => String(cell ?? "-")),
    );
    return {
      text: formatFacts(facts) + (rows.length === 0 ? "" : `\n\n${formatTable(["kpi", "now", "from", "to"], rows)}`),
    };
  },
};
