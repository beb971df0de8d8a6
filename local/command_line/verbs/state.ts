import { facts, table } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Shows how things stand. */
export const state: Verb = {
  usage: "state",
  operation: "GET /api/state",
  async run({ client }) {
    const { E, M, R, N, tick, tasks, freeze, goals, as_of } = await client.get("/api/state");
    const share = (value: number | null) => (value === null ? "unknown" : `${Math.round(value * 100)} %`);
    const shown = {
      ...{ "E, effect": share(E), "M, memory": share(M), "R, reliability": share(R), "N, need": share(N) },
      ...{ tasks: `${tasks.queued} queued, ${tasks.failed} failed`, cycle: tick, "as of": as_of },
      frozen: freeze && (freeze.until ? `until ${freeze.until}` : "yes"),
    };
    const rows = goals.map((goal) =>
      [goal.kpi, goal.current, goal.baseline, goal.target].map((cell) => String(cell ?? "-")),
    );
    return { text: facts(shown) + (rows.length === 0 ? "" : `\n\n${table(["kpi", "now", "from", "to"], rows)}`) };
  },
};
