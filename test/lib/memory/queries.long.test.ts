import { expect, test } from "vitest";
import { remember } from "../../../lib/projections/memory.ts";
import { simulatedMonth } from "../../support/month/month.ts";
import type { Month } from "../../support/month/acts.ts";
import { GIL } from "../../support/month/people.ts";
import { ENGLISH, type MemoryQuery } from "./queries.ts";

const RIGHT = 36;

/** Searches as a person does, and tells what came first where it is not what is right. */
async function missed(month: Month, { query, kinds, changes = [], says }: MemoryQuery): Promise<string | undefined> {
  const { results } = (await month.get(`/api/memory/search?q=${encodeURIComponent(query)}&limit=3`)).body;
  const [first] = results;
  const refs = changes.map(month.idOf);
  const fits =
    first &&
    kinds.includes(first.kind) &&
    (refs.length === 0 || refs.includes(first.ref)) &&
    (says ?? /(?:)/).test(first.text);
  return fits ? undefined : `${query}\n    ${first ? `${first.kind}: ${first.text}` : "nothing"}`;
}

test("thirty-six of forty searches have the right memory first, also when repeated", async () => {
  const month = await simulatedMonth();
  const all = ENGLISH;
  const { store, clock } = month.deps;
  for (const { query: text } of all)
    await store.transact((tx) => remember(tx, { kind: "chat", text, author: GIL, at: clock.iso(), ref: null }));
  expect(ENGLISH).toHaveLength(40);
  const wrong = (await Promise.all(all.map((query) => missed(month, query)))).filter((one) => one !== undefined);
  process.stdout.write(
    `memory searches: ${all.length - wrong.length} of ${all.length} have the right first hit${wrong.map((one) => `\n  not: ${one}`).join("")}\n`,
  );
  expect(all.length - wrong.length, wrong.join("\n")).toBeGreaterThanOrEqual(RIGHT);
});
