/** Sixty questions about the simulated month, in English and Chinese, each held against its ledger. */
import { beforeAll, expect, test } from "vitest";
import { dealt, inShort } from "../../support/length.ts";
import { contradictionsIn } from "../../support/month/contradictions.ts";
import type { Month } from "../../support/month/acts.ts";
import { simulatedMonth } from "../../support/month/month.ts";
import { CASES, type Case } from "./questions.ts";

let month: Month;
beforeAll(async () => void (month = await simulatedMonth()));

/** The changes of a text, by their names in the story. */
const namesIn = (text: string): string[] =>
  [...month.ledger.changes.values()].filter(({ id }) => text.includes(id)).map(({ name }) => name);

async function holds({ question, by, names, says = [], also = [] }: Case): Promise<void> {
  const { reply } = await month.ask(question, by);
  const { text } = reply;
  const told = namesIn(text);
  for (const name of names) expect(told, `${question}\n${text}`).toContain(name);
  const others = told.filter((name) => !names.includes(name) && !also.includes(name));
  expect(others, `${question}: more than was asked for\n${text}`).toEqual([]);
  for (const words of says) expect(text, question).toMatch(words);
  expect(contradictionsIn(month.ledger, text.split(/^(?:From memory|记忆中)/m)[0]!), question).toEqual([]);
  if (names.length > 0) expect(reply.citations.length, question).toBeGreaterThan(0);
}

test.each(dealt(CASES, 24))("$question", holds);

inShort(test)("there are thirty in each language", () => {
  const chinese = CASES.filter(({ question }) => /\p{Script=Han}/u.test(question));
  expect([CASES.length - chinese.length, chinese.length]).toEqual([30, 30]);
});
