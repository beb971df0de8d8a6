/** Runs what was asked for, one after the other. */
import { dynamoDb } from "./dynamodb.ts";
import { postgres } from "./postgres.ts";

const asked = process.argv.slice(2);
const short = asked.includes("--short");
const parts = { postgres, dynamodb: dynamoDb };
const named = Object.keys(parts).filter((name) => asked.includes(name));
for (const [name, run] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await run({ short });
process.exit(0);
