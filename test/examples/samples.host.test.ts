/** The example that computes samples from events in Postgres, posts them, and logs exposures from an OpenFeature hook. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { SampleRow } from "../../lib/rollout/samples.ts";
import { rolloutClient, openRollout, STAGES } from "../support/rollouts.ts";
import { startPostgres } from "../support/postgres_server.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/samples");
type Hook = { after(context: { context: object }, details: { variant?: string; flagMetadata?: object }): void };
const { exposureHook } = (await import(/* @vite-ignore */ join(EXAMPLE, "exposure_hook.mjs"))) as {
  exposureHook: (log: (row: unknown) => void) => Hook;
};
const server = await startPostgres();
afterAll(() => server?.stop());

const timeAt = (minute: number) => new Date(Date.UTC(2026, 0, 2, 0, minute)).toISOString();

/** Exposures of users in two steps: change, step, arm, user, time. Step 0 of `chg_a` ends at minute 60, when step 1 begins. */
const EXPOSURES = [
  ["chg_a", 0, "treated", "u1", timeAt(0)],
  ["chg_a", 0, "treated", "u1", timeAt(5)],
  ["chg_a", 0, "treated", "u2", timeAt(1)],
  ["chg_a", 0, "control", "u3", timeAt(2)],
  ["chg_a", 1, "treated", "u3", timeAt(60)],
  ["chg_a", 1, "control", "u4", timeAt(61)],
  ["chg_b", 0, "treated", "u9", timeAt(0)],
];
/** Events of these users before, within and after their steps: user, name, value, time. */
const EVENTS = [
  ["u1", "purchase", 100, timeAt(3)],
  ["u1", "purchase", 700, timeAt(4)],
  ["u2", "purchase", 50, timeAt(0)],
  ["u2", "view", 1, timeAt(3)],
  ["u3", "purchase", 10, timeAt(70)],
  ["u4", "purchase", 20, timeAt(62)],
];
/** Creates the totals of both arms from lists of the number of users, the sum, and for a mean the sum of squares. */
const cell = (treated: number[], control: number[]) => {
  const arm = ([n = 0, sum = 0, sum2]: number[]) => ({ n, sum, ...(sum2 !== undefined && { sum2 }) });
  return { treated: arm(treated), control: arm(control) };
};

test.skipIf(!server)(
  "a step counts each user once, with purchases from the first exposure to the step's end",
  async () => {
    const { pool, url } = server!;
    await pool.query(readFileSync(join(EXAMPLE, "tables.sql"), "utf8"));
    for (const row of EXPOSURES) await pool.query("insert into exposures values ($1, $2, $3, $4, $5)", row);
    for (const row of EVENTS) await pool.query("insert into events values ($1, $2, $3, $4)", row);
    const requests: { authorization: string | undefined; body: { change_id: string; rows: SampleRow[] } }[] = [];
    const http = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.on("end", () => {
        requests.push({ authorization: request.headers.authorization, body: JSON.parse(text) });
        response.end("{}");
      });
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void http.close());
    await once(http, "listening");
    const { port } = http.address() as AddressInfo;
    const env = {
      ...process.env,
      CHANGE_ID: "chg_a",
      COUNTERSIGN_URL: `http://127.0.0.1:${port}`,
      COUNTERSIGN_SECRET: "s",
      DATABASE_URL: url,
    };
    await promisify(execFile)(process.execPath, [join(EXAMPLE, "post_samples.mjs")], { env });
    const [{ authorization, body }] = requests as [(typeof requests)[0]];
    expect([authorization, body.change_id]).toEqual(["Bearer s", "chg_a"]);
    // u1 spent 800 in step 0, cut at the default of MAX_REVENUE. The purchases of u2 before the first exposure and of u3 after the
    // end of step 0 do not count there.
    expect(body.rows.map(({ as_of: _, ...row }) => row)).toEqual([
      { step: 0, kpi: "conversion", ...cell([2, 1], [1, 0]) },
      { step: 0, kpi: "revenue", ...cell([2, 500, 250_000], [1, 0, 0]) },
      { step: 1, kpi: "conversion", ...cell([1, 1], [1, 1]) },
      { step: 1, kpi: "revenue", ...cell([1, 10, 100], [1, 20, 400]) },
    ]);
    const watch = [...STAGES.watch, { kpi: "revenue", kind: "mean", good: "up", allowed: 5, bounds: [0, 500] }];
    const { api, change_id } = await openRollout({ stages: { watch } });
    const rows = body.rows.filter(({ step }) => step === 0).map((row) => ({ ...row, as_of: api.deps.clock.iso() }));
    expect(await rolloutClient(api, change_id).feed(rows)).toMatchObject({ status: 200, body: { accepted: 2 } });
  },
);

test("the hook logs the arm of a user, and nothing for a user without an arm", () => {
  const rows: unknown[] = [];
  const hook = exposureHook((row) => void rows.push(row));
  const flagMetadata = { change_id: "chg_a", step: 1 };
  hook.after({ context: { userId: "u1" } }, { variant: "treated", flagMetadata });
  // A context without a user, a variant that is no arm, and an answer without a variant.
  hook.after({ context: {} }, { flagMetadata: { change_id: "chg_a" } });
  hook.after({ context: { userId: "u2" } }, { variant: "blue", flagMetadata: {} });
  hook.after({ context: { userId: "u3" } }, {});
  expect(rows).toEqual([{ change_id: "chg_a", step: 1, arm: "treated", user_id: "u1" }]);
});
