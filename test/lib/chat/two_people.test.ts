/** Where a question names several people in one role, it asks for any of them: held against the ledger of the month. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import type { Did } from "../../support/month/ledger.ts";
import { monthToRead } from "../../support/month/month.ts";

let month: Month;
beforeAll(async () => void (month = await monthToRead()));

const ask = async (question: string, by?: string): Promise<string> => (await month.ask(question, by)).reply.text;

/** How many changes somebody of these did this to. */
function reckoned(did: Did, ...people: string[]): number {
  const acts = month.ledger.acts.filter(
    (act) => act.did === did && people.some((name) => act.by === `${name}@acme.example`),
  );
  return new Set(acts.map(({ change }) => change)).size;
}

test.each<[question: string, did: Did, people: string[], by?: string]>([
  ["Which changes did Ana and Bo approve?", "approved", ["ana", "bo"]],
  ["Which changes did Ana or Bo approve?", "approved", ["ana", "bo"]],
  ["Ana、Bo 和 Chen 批准了哪些变更？", "approved", ["ana", "bo", "chen"]],
  ["Which changes did Dana, Erin and Chen propose?", "proposed", ["dana", "erin", "chen"]],
  ["How many changes did Dana and I propose?", "proposed", ["dana", "chen"], "chen@acme.example"],
  ["What did Ana and Bo apply?", "applied", ["ana", "bo"]],
])("%s", async (question, did, people, by) => {
  const text = await ask(question, by);
  for (const name of people) expect(text.split("\n")[0]).toContain(`${name}@acme.example`);
  expect(Number(/[:：] ?(\d+)/.exec(text)?.[1] ?? text), text).toBe(reckoned(did, ...people));
  expect(text).not.toMatch(/left out|没有计入/);
  expect(reckoned(did, ...people), "either of them has some").toBeGreaterThan(
    Math.max(...people.map((one) => reckoned(did, one))),
  );
});

test("what waits for two people is told of each", async () => {
  const text = await ask("What waits for Erin and Bo?");
  const [erin, bo] = [await ask("What waits for Erin?"), await ask("What waits for Bo?")];
  expect(text).toBe(`${erin}\n${bo}`);
});
