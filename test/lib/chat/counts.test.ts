/** What chat counts in random logs is what their entries say, counted a second way. */
import { expect, test } from "vitest";
import { dealt } from "../../support/length.ts";
import { counted, randomLog, toldBy } from "../pulse/query/random_log.ts";

test.each(dealt([31, 32, 33, 34, 35], 1))("the counts of answers on random log %i", async (seed) => {
  const product = await randomLog(seed, 40);
  const ask = async (message: string): Promise<string> =>
    (await product.post("/api/chat", { message, memory: "off" })).body.reply.text;
  await ask("status");
  const all = [...(await toldBy(product)).values()];
  const groupsIn = (text: string): Record<string, number> =>
    Object.fromEntries(
      [.../([^\s,:]+) (\d+)(?=[,.])/g[Symbol.matchAll](text.split("\n")[1]!)].map(([, key, count]) => [
        key,
        Number(count),
      ]),
    );
  expect(groupsIn(await ask("How many changes are there per tenant?"))).toEqual(
    counted(all.map(({ tenant }) => tenant)),
  );
  expect(groupsIn(await ask("How many changes has each person proposed?"))).toEqual(
    counted(all.map(({ proposer }) => proposer)),
  );
  const most = `\n${(await ask("Who approves most?")).split("All: ")[1]!}`;
  expect(groupsIn(most)).toEqual(counted(all.flatMap(({ approvers }) => [...approvers.keys()])));
  for (const [question, wanted] of [
    ["How many changes were applied?", all.filter(({ applied }) => applied !== undefined)],
    ["How many changes are live in t1?", all.filter(({ status, tenant }) => status === "applied" && tenant === "t1")],
    ["How many changes did dana propose?", all.filter(({ proposer }) => proposer === "dana")],
    [
      "How many changes of northwind were rolled back?",
      all.filter(({ tenant, rolledBack }) => tenant === "northwind" && rolledBack !== undefined),
    ],
  ] as const)
    expect(await ask(question), question).toMatch(new RegExp(`: ${wanted.length === 0 ? "none" : wanted.length}\\.`));
});
