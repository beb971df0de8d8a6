/**
 * The question sets beside this file, over the simulated month: what is asked is answered, and what is said is so. What was
 * not is printed; `QUESTIONS=told` prints it for a set that passes too.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { simulatedMonth } from "../../../support/month/month.ts";
import { judge, type Question, reportOf, shortfallsOf } from "../../../support/questions.ts";

const SETS = readdirSync(import.meta.dirname).filter((name) => /^(en|zh)_\w+\.ts$/.test(name));

const questionsOf = async (name: string): Promise<readonly Question[]> =>
  ((await import(join(import.meta.dirname, name))) as { questions: readonly Question[] }).questions;

test("a set asks in the language that its name tells", async () => {
  for (const name of SETS)
    for (const { ask, language } of await questionsOf(name)) expect(name, ask).toMatch(new RegExp(`^${language}_`));
});

/** Every set is asked of a month of its own, so that no question is helped by those of another set. */
describe.each(SETS)("%s", (name) => {
  test("is answered", async () => {
    const { ledger, ask } = await simulatedMonth();
    const answered = async (question: string, by?: string) => (await ask(question, by)).reply.text;
    const verdict = await judge(ledger, await questionsOf(name), answered);
    const report = reportOf(verdict);
    if (process.env["QUESTIONS"] === "told") process.stdout.write(`${name}: ${report}\n`);
    expect(shortfallsOf(verdict), report).toEqual([]);
  });
});
