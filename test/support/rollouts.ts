/** A service with a change that is rolled out in steps, and the agent that feeds its samples. */
import { decideRollouts } from "../../lib/changes/rollouts/decide_rollouts.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { HOUR } from "./clock.ts";
import { core, type Core } from "./core.ts";
import type { TestOptions } from "./deps.ts";
import type { Fields } from "./requests.ts";

const SECRET = "the feeder's secret";

/** The agents of the intent. */
export const AGENTS = {
  "agent:analytics": { kind: "agent", token_sha256: portableSha256(SECRET) },
  "agent:other": { kind: "agent", token_sha256: portableSha256("another secret") },
};

export const AS_FEEDER = { authorization: `Bearer ${SECRET}` };
export const AS_OTHER = { authorization: "Bearer another secret" };

/** A rollout of two steps that watches one KPI. A `share` of 1000 of 10,000 is a tenth of the users. */
export const STAGES = {
  unit: "userId",
  fed_by: "agent:analytics",
  max_silent_hours: 24,
  steps: [
    { share: 1000, advance: "budget", min_hours: 24 },
    { share: 5000, advance: "proven", min_hours: 24 },
  ],
  watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.05 }],
};

/** Returns the totals of both arms for a number of users; `share` are the treated among 10,000, `rates` are of success. */
export const totals = (users: number, share: number, rates: [treated: number, control: number] = [0.2, 0.2]) => {
  const [treated, control] = rates;
  const n = Math.round((users * share) / 10_000);
  return {
    treated: { n, sum: Math.round(n * treated) },
    control: { n: users - n, sum: Math.round((users - n) * control) },
  };
};

/** Returns a row of samples of step 0 for 100,000 users, a tenth of them treated, at the time of the clock. */
export const sample = (api: Pick<Core, "deps">, fields: object = {}) => ({
  step: 0,
  kpi: "conversion",
  as_of: api.deps.clock.iso(),
  ...totals(100_000, 1000),
  ...fields,
});

/** Opens a service, and applies a change with a rollout to its first step. */
export async function openRollout({
  stages = {},
  policy = {},
  proposal = {},
  ...options
}: TestOptions & { stages?: object; policy?: object; proposal?: Fields } = {}) {
  const api = await core({ intent: { principals: AGENTS, policy }, ...options });
  const stagesJson = JSON.stringify({ ...STAGES, ...stages });
  const change_id = await api.bring("applied", { value: "true", ...proposal, stages: stagesJson });
  return { api, change_id, ...rolloutClient(api, change_id) };
}

/** Returns functions that feed, advance and read a rollout. */
export function rolloutClient(api: Pick<Core, "audit" | "json" | "post" | "change" | "deps">, change_id: string) {
  const events = async () =>
    (await api.audit()).filter((entry) => entry.change_id === change_id).map(({ event_type }) => event_type as string);
  const feed = (rows: object[], headers: HeadersInit = AS_FEEDER) => api.json("samples", { change_id, rows }, headers);
  return {
    events,
    feed,
    /** Feeds a valid row and runs the cycle that it triggers. */
    feedNow: async (fields: object = {}) => {
      const { status, text } = await feed([sample(api, fields)]);
      if (status !== 200) throw new Error(text);
      return decideRollouts(api.deps);
    },
    decide: () => decideRollouts(api.deps),
    act: (step: number, action: string, actor = "ana") => api.post("stage", { change_id, step, action, actor }),
    exposure: async () => (await api.change(change_id)).exposure,
    /** Returns the detail of the change's last entry of this type. */
    detail: async (event_type: string) => {
      const entries = (await api.audit()).filter((entry) => entry.change_id === change_id);
      const detail = entries.findLast((entry) => entry.event_type === event_type)?.detail;
      return detail && JSON.parse(detail);
    },
    passHours: (count: number) => api.deps.clock.advance(count * HOUR),
  };
}
