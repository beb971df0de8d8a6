/** Searches of people in the memory of the simulated month have the right first result. */
import { expect, test } from "vitest";
import { remember } from "../../../lib/projections/memory.ts";
import { simulatedMonth } from "../../support/month/month.ts";
import type { Month } from "../../support/month/acts.ts";
import { GIL } from "../../support/month/people.ts";
import { ENGLISH, type MemoryQuery } from "./queries.ts";

const MIN_RIGHT = 36;

/** Searches, and describes the first result if it is wrong; returns undefined if it is right. */
async function findWrongResult(
  month: Month,
  { query, kinds, changes = [], says }: MemoryQuery,
): Promise<string | undefined> {
  const { results } = (await month.get(`/api/memory/search?q=${encodeURIComponent(query)}&limit=3`)).body;
  const [first] = results;
  const refs = changes.map(month.idOf);
  const isRight =
    first &&
    kinds.includes(first.kind) &&
    (refs.length === 0 || refs.includes(first.ref)) &&
    (says ?? /(?:)/).test(first.text);
  return isRight ? undefined : `${query}\n    ${first ? `${first.kind}: ${first.text}` : "nothing"}`;
}

test("36 of 40 searches have the right memory first, although people wrote the same in chat", async () => {
  const month = await simulatedMonth();
  const { store, clock } = month.deps;
  for (const { query: text } of ENGLISH)
    await store.transact((tx) => remember(tx, { kind: "chat", text, author: GIL, at: clock.iso(), ref: null }));
  expect(ENGLISH).toHaveLength(40);
  const wrong = (await Promise.all(ENGLISH.map((query) => findWrongResult(month, query)))).filter(
    (result) => result !== undefined,
  );
  process.stdout.write(
    `memory searches: ${ENGLISH.length - wrong.length} of ${ENGLISH.length} have the right first hit${wrong.map((result) => `\n  not: ${result}`).join("")}\n`,
  );
  expect(ENGLISH.length - wrong.length, wrong.join("\n")).toBeGreaterThanOrEqual(MIN_RIGHT);
});
