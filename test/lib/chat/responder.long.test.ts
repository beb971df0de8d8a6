/** The built-in responder answers questions about the simulated month correctly, and shows the queries that it ran. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import { simulatedMonth } from "../../support/month/month.ts";
import { ANA, BO, CHEN, DANA, ERIN, GIL } from "../../support/month/people.ts";
import { chatService } from "./chat_service.ts";

let month: Month;
// A month of its own: the messages of these tests are stored in it.
beforeAll(async () => void (month = await simulatedMonth()));

const ask = async (message: string, by = GIL) => (await month.ask(message, by)).reply;
/** Returns the names of the changes that the reply cites. */
const listCitedNames = async (message: string, by = GIL): Promise<string[]> =>
  (await ask(message, by)).citations.filter(({ kind }) => kind === "change").map(({ id }) => changeName(id));
const changeName = (id: string): string => [...month.ledger.changes.values()].find((change) => change.id === id)!.name;

test("a message that is a query is answered with its rows, its count and the query", async () => {
  const { text, mode } = await ask("IS:pending -tenant:northwind");
  expect(mode).toBe("rules");
  expect(text).toContain("Query: is:pending_consent -tenant:northwind – 3 changes.");
  expect((await listCitedNames("IS:pending -tenant:northwind")).sort()).toEqual([
    "bundle price",
    "guest checkout",
    "reminder mails",
  ]);
});

test("a group and a duration are shown as the query computed them", async () => {
  const grouped = (await ask("is:applied group:tenant")).text;
  const { groups } = (await month.get("/api/find?q=is:applied%20group:tenant")).body;
  for (const { key, count } of groups) expect(grouped).toContain(`- ${key}: ${count}`);
  const { rows, total } = (await month.get("/api/find?q=time:applied-rolledback&limit=100")).body;
  const timed = rows.filter(({ seconds }: { seconds: number | null }) => seconds !== null).length;
  expect(timed).toBeLessThan(total);
  expect((await ask("time:applied-rolledback")).text).toMatch(
    new RegExp(`Median .+, longest .+, over ${timed} of ${total}\\.`),
  );
});

test.each([
  ["is:pendign", "did you mean pending?"],
  ["tenant:northwnd", "did you mean northwind?"],
  ["applied:sometime", "must be a date"],
])("%s is not a valid query, and the reply says why", async (message, reason) => {
  const { text } = await ask(message);
  expect(text).toContain("This query does not run");
  expect(text).toContain(reason);
  expect(text).not.toMatch(/no change matches|none/i);
});

test.each([
  "Waiting for me",
  "waiting for me?",
  "等我处理的",
  "What waits for me?",
  "what do I have to sign?",
  "有什么等我批准",
])("%s is answered with the changes that wait for the caller", async (message) => {
  for (const person of [ANA, BO, CHEN, ERIN]) {
    const { rows } = (await month.get("/api/find?q=is:waiting%20sort:expires-asc", person)).body;
    expect(await listCitedNames(message, person)).toEqual(
      rows.map(({ change_id }: { change_id: string }) => changeName(change_id)),
    );
  }
  expect((await ask(message, DANA)).text).toContain("Query: is:waiting sort:expires-asc – no change matches.");
});

test("every title of a saved question is answered by its query, in either language", async () => {
  const { saved } = (await month.get("/api/find/saved")).body;
  for (const { title, query } of saved)
    for (const name of [title.en, `${title.en.toUpperCase()}?`, title.zh])
      expect((await ask(name, DANA)).text, name).toContain(`Query: ${query} – `);
});

describe("topics", () => {
  test.each(["What is pending?", "which changes wait for approval", "is anything pending"])("%s", async (message) => {
    const pending = ["bundle price", "data retention", "guest checkout", "reminder mails"];
    expect((await listCitedNames(message)).sort()).toEqual(pending);
    expect((await ask(message)).text).toContain("– 4 changes.");
  });

  test.each(["status", "what is the status"])("%s", async (message) => {
    const { text } = await ask(message);
    expect(text).toContain("4 pending_consent, 2 approved");
    expect(text).toMatch(/E 0\.\d+, M 0\.\d+, R 0\.\d+, N 0\.\d+/);
  });

  test("KPIs are listed with value, target and age", async () => {
    const { text } = await ask("How are our KPIs?");
    expect(text).toMatch(/nrr_quarterly 1\.05, fed 2026-11-16 08:00 UTC: baseline 1\.02, target 1\.12/);
    expect(text).toMatch(/deal_win_rate 0\.19, .*not fed for over 7 days/);
  });

  test("failures are listed from the log, newest first, with current drift", async () => {
    const { text } = await ask("What failed?");
    expect(text.split("\n").filter((line) => line.includes(" failed in "))).toEqual([
      expect.stringMatching(/\): apply failed in apply.*: “connection refused”/),
      expect.stringMatching(/\): rollback failed in rollback.*: “host unreachable”/),
      expect.stringMatching(/\): apply failed in apply.*: “disk full”/),
      expect.stringMatching(/\): apply failed in apply.*: “disk full”/),
    ]);
    expect(text).toMatch(/Drifting now:\n- ui\.banner since 2026-11-03 23:50 UTC/);
  });

  test("a question about the log is answered with its length, without another verification", async () => {
    const { integrity } = month.deps;
    const passBefore = integrity.lastPass;
    const { text } = await ask("Is the log intact?");
    expect(integrity.lastPass).toBe(passBefore);
    expect(text).toContain(`It has ${(await month.get("audit?limit=1")).body.length} entries`);
  });

  test.each(["help", "?", "hi"])("%s lists the possible questions", async (message) =>
    expect((await ask(message)).text).toContain("Ask with a query"),
  );

  test.each([
    ["Why was the short form rolled back?", "short form", ["Half of the visitors leave", "phone number", CHEN]],
    ["Why was dark mode denied?", "dark mode", ["Not before the accessibility review", BO, "without a reason"]],
    ["why did you accept sessions of the old key", "login outage", ["Customers cannot sign in"]],
  ])("%s", async (message, name, parts) => {
    const { text, citations } = await ask(message);
    expect(text).toMatch(/^Query: /);
    expect(changeName(citations[0]!.id)).toBe(name);
    for (const part of parts) expect(text).toContain(part);
  });
});

test("a topic with additional words is searched, since its fixed answer would ignore them", async () => {
  const { text } = await ask("pending changes about data retention");
  expect(text).toMatch(
    /^Query: pending data retention – no change matches all of it; \d+ changes? ha(?:s|ve) some of its words/,
  );
  expect((await listCitedNames("pending changes about data retention"))[0]).toBe("data retention");
});

test.each([
  ["which change was about 4000 mails an hour", "mail loop"],
  ["the discount of 15 percent", "discount cap"],
  ["who approved the trial of 21 days?", "trial length"],
  ["unsubscribes doubled since August", "fewer mails"],
  ["accountants want spreadsheets", "export format"],
])("%s finds its change first", async (message, name) => expect((await listCitedNames(message))[0]).toBe(name));

test.each(['"load test"', "mails -hour", "retr*", "seat limit", "spreadsheet importer"])(
  "%s finds the same in chat as in find",
  async (query) => {
    const { rows } = (await month.get(`/api/find?${new URLSearchParams({ q: query })}`)).body;
    expect(rows.length).toBeGreaterThan(0);
    expect(await listCitedNames(query)).toEqual(
      rows.map(({ change_id }: { change_id: string }) => changeName(change_id)),
    );
    expect((await ask(query)).text).toContain(`Query: ${query} – ${rows.length} change`);
  },
);

test("a search for any of the words still leaves out the words with a minus", async () => {
  const { text } = await ask("zyxwv mails -loop");
  expect(text).toContain("Query: zyxwv mails -loop – no change matches all of it; ");
  expect(text).not.toContain("loop.");
});

test("the reply reports no results only for words or a query that ran", async () => {
  expect((await ask("zyxwv qponm")).text).toContain("Query: zyxwv qponm – no text of a change has any of these words.");
  expect((await ask("!!!")).text).not.toMatch(/no change/);
  expect((await ask("tenat:acme")).text).toBe(
    "This query does not run: q has no field tenat: did you mean tenant:? Put text that holds a colon in quotes.",
  );
});

test("matching saved questions are suggested for other words", async () => {
  const { text } = await ask("show me the broken ones please, promises I mean");
  expect(text).toContain("- Broken promises: verdict:missed,regressed sort:applied");
});

test.each([
  "approve it for me",
  "please approve the data retention change",
  "批准它",
  "roll back the retry limit",
  "can you deny it?",
])("%s decides nothing, and the reply says where a person can decide", async (message) => {
  const before = (await month.get("audit?limit=1")).body.length;
  const { text } = await ask(message, ANA);
  expect(text).toContain("Chat decides nothing.");
  expect(text).toMatch(/#\/changes\//);
  expect((await month.get("audit?limit=1")).body.length).toBe(before);
});

test.each([
  ["approve dark mode", "Query: dark mode – no change that matches has a status that allows: approve."],
  ["deny e2 please", "Query: e2 – no change that matches has a status that allows: deny."],
])("%s lists no change, since the status of none allows it", async (message, line) => {
  const { text, citations } = await ask(message, ANA);
  expect(text).toBe(`Chat decides nothing.\n${line}`);
  expect(citations).toEqual([]);
});

test("an order lists only changes whose status allows it", async () => {
  const ids = (await ask("approve it", ANA)).citations.map(({ id }) => id);
  expect(ids).toHaveLength(3);
  for (const id of ids)
    expect((await month.get(`/api/product/changes/${id}`)).body.allowed_actions).toContain("approve");
});

test("a change named by its id is shown with its entries", async () => {
  const id = month.idOf("queue size");
  const { text, citations } = await ask(id);
  expect(text).toContain(`Query: ${id} – 1 change.`);
  expect(text).toContain("Apply failed in apply, requested by ");
  expect(citations.filter(({ kind }) => kind === "audit").length).toBeGreaterThan(3);
});

test("every line of every list agrees with the ledger of the simulation", async () => {
  const queries = [
    "-tier:minor",
    "is:pending",
    "is:denied",
    "is:applied",
    "is:rolled_back",
    "is:approved",
    "risk:high",
    "by:agents",
  ];
  for (const query of queries)
    for (const line of (await ask(query)).text.split("\n").filter((text) => text.startsWith("- "))) {
      const change = [...month.ledger.changes.values()].find(({ id }) => line.endsWith(id))!;
      expect(line).toContain(`(${change.target} for tenant ${change.tenant})`);
      // Only the default is medium in this month.
      expect(line).toContain(change.risk === "medium" ? "risk not stated" : `${change.risk} risk`);
      const words = { pending_consent: "waiting for consent", rolled_back: "rolled back" } as Record<string, string>;
      expect(line).toContain(change.ended ?? words[change.status] ?? change.status);
      if (change.affected_users !== null) expect(line).toContain(`${change.affected_users} users`);
      expect(line.includes("the host product shows")).toBe(change.drifting);
    }
});

test("without a product the reply says so; status and help still work", async () => {
  const service = await chatService({ intent: null });
  expect((await service.say("is:pending")).body.reply.text).toContain("The product runtime is off");
  expect((await service.say("status")).body.reply.text).toMatch(/E unknown/);
  expect((await service.say("help")).body.reply.text).toContain("Ask with a query");
});

test("any message of thousands of characters is answered", async () => {
  for (const text of ["is:", "-", '"', "为什么", "why ", "a:b ", "chg_"]) {
    const { status } = await (await chatService()).say(text.repeat(Math.floor(6000 / text.length)));
    expect(status).toBe(200);
  }
});
