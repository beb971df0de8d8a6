/** Runs the benchmarks that the arguments name, or all, one after the other; main.mjs describes the arguments. */
import { dynamoDb } from "./dynamodb.ts";
import { postgres } from "./postgres.ts";

const args = process.argv.slice(2);
const short = args.includes("--short");
const parts = { postgres, dynamodb: dynamoDb };
const requested = Object.keys(parts).filter((name) => args.includes(name));
for (const [name, run] of Object.entries(parts))
  if (requested.length === 0 || requested.includes(name)) await run({ short });
process.exit(0);
