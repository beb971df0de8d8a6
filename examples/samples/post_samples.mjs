/** Computes the totals of a rollout from events, and posts them to Countersign. */
import { readFile } from "node:fs/promises";
import { Client } from "pg";

const { CHANGE_ID, COUNTERSIGN_URL, COUNTERSIGN_SECRET, DATABASE_URL, MAX_REVENUE = "500" } = process.env;

const database = new Client(DATABASE_URL);
await database.connect();
const as_of = new Date();
const sql = await readFile(new URL("snapshot.sql", import.meta.url), "utf8");
const { rows: totals } = await database.query(sql, [CHANGE_ID, as_of, Number(MAX_REVENUE)]);
await database.end();

const NO_USERS = { n: 0, bought: 0, revenue: 0, revenue2: 0 };
const rows = [...new Set(totals.map(({ step }) => step))].flatMap((step) => {
  const findArm = (name) => totals.find((row) => row.step === step && row.arm === name) ?? NO_USERS;
  const [treated, control] = [findArm("treated"), findArm("control")];
  const createRow = (kpi, toSample) => ({ step, kpi, as_of, treated: toSample(treated), control: toSample(control) });
  return [
    createRow("conversion", ({ n, bought }) => ({ n, sum: bought })),
    createRow("revenue", ({ n, revenue, revenue2 }) => ({ n, sum: revenue, sum2: revenue2 })),
  ];
});

if (rows.length > 0) {
  const response = await fetch(`${COUNTERSIGN_URL}/api/product/samples`, {
    method: "POST",
    headers: { authorization: `Bearer ${COUNTERSIGN_SECRET}`, "content-type": "application/json" },
    body: JSON.stringify({ change_id: CHANGE_ID, rows }),
  });
  console.log(response.status, await response.text());
  if (!response.ok) process.exitCode = 1;
}
