/**
 * Tests the verbs of the command line on a service in this process: what each sends, prints and returns. Exit codes: 1 rejected by
 * the service, 2 wrong arguments, 3 no such change, 6 denied, 7 still waiting.
 */
import { AGENTS, STAGES } from "../../support/rollouts.ts";
import { join } from "node:path";
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { nodeIo } from "../../../local/command_line/node_io.ts";
import { OPERATIONS } from "../../../lib/client/generated/operations.ts";
import type { Io } from "../../../local/command_line/run.ts";
import { makeProgram } from "../../../local/command_line/program.ts";
import { VERBS } from "../../../local/command_line/verbs/index.ts";
import { temporaryFolder } from "../../e2e/server.ts";
import { get } from "../../support/requests.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { openCommandLine, PROPOSE } from "./open_command_line.ts";

test.each(["null", "0", "false", '""', "[null]", "0.1"])("--value %s is sent as it is", async (value) => {
  const { answer } = await openCommandLine({});
  expect((await answer([...PROPOSE, "--value", value])).value).toEqual(JSON.parse(value));
});

test("a value with a number that would be rounded is rejected", async () => {
  const { call } = await openCommandLine({});
  const { code, err } = await call([...PROPOSE, "--value", '{"id":9007199254740993}']);
  expect([code, err]).toEqual([2, expect.stringContaining("write it as a string")]);
});

test("a change goes from proposal to rollback", async () => {
  const { call, answer } = await openCommandLine({ adapter: scriptedAdapter() });
  // A change that cannot be reversed is major.
  const proposed = await answer([...PROPOSE, "--value", '{"on":true}', "--affected-users", "12", "--no-reversible"]);
  expect(proposed).toMatchObject({ value: { on: true }, affected_users: 12, reversible: false, tier: "major" });
  const id = proposed.change_id;
  expect((await call(["apply", id])).code).toBe(1);
  const approved = await call(["approve", id, "--approver", "ana", "--note", "fine"]);
  expect(approved).toMatchObject({ code: 0, out: `${id}  approved, entry 3\n`, err: "" });
  expect((await call(["apply", id, "--dry-run"])).out).toMatch(/approved \(scripted: valid\), dry run/);
  expect((await call(["apply", id, "--actor", "bo"])).out).toBe(`${id}  applied (scripted: applied), entry 4\n`);
  const showText = (await call(["show", id])).out;
  for (const part of [`${id}  applied`, "Show it", '{"on":true}', "ana, claimed", "Applied by bo"])
    expect(showText).toContain(part);
  expect((await call(["rollback", id])).out).toContain("rolled_back");
  const { change_id: pending } = await answer(PROPOSE);
  const pendingLines = (await call(["list", "--status", "pending_consent"])).out.trim().split("\n");
  expect(pendingLines[1]).toMatch(
    new RegExp(`^${pending}  pending_consent  standard  -  +-  +t1  +ui\\.banner \\(sets nothing\\)  Show it$`),
  );
  const listLines = (await call(["list", "--status", "rolled_back"])).out.trim().split("\n");
  expect(listLines).toHaveLength(2);
  expect(listLines[1]).toMatch(new RegExp(`^${id}  rolled_back  major  .* t1 +ui\\.banner  Show it$`));
  expect((await call(["list", "--status", "denied"])).out).toBe("no changes\n");
});

test("--reversible makes a change minor; without it, the reason is printed", async () => {
  const policy = { minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_per_day: 20 } };
  const { call, answer } = await openCommandLine({ intent: { policy } });
  const minor = [...PROPOSE, "--tier", "minor", "--risk", "low", "--affected-users", "10"];
  expect(await answer([...minor, "--reversible"])).toMatchObject({
    tier: "minor",
    status: "approved",
    reversible: true,
  });
  expect((await call(minor)).out).toMatch(/^ +not minor +.*reversible: true/m);
});

test("--apply-when is text: approved, or a time", async () => {
  const { call, answer } = await openCommandLine({ intent: { policy: { apply_when: ["approved"] } } });
  expect(await answer([...PROPOSE, "--apply-when", "approved"])).toMatchObject({ apply_when: "approved" });
  expect(await call([...PROPOSE, "--apply-when", "tomorrow"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("apply_when must be manual, approved, or a time such as 2026-12-24T08:00:00Z"),
  });
});

test("a failed apply says which verb shows the cause", async () => {
  const adapter = scriptedAdapter();
  const { call, answer } = await openCommandLine({ adapter });
  const { change_id: id } = await answer(PROPOSE);
  await call(["approve", id, "--approver", "ana"]);
  adapter.on("apply", () => Promise.reject(new Error("disk full")));
  const { code, err } = await call(["apply", id]);
  expect([code, err]).toEqual([1, expect.stringContaining("\n  countersign show <change_id> shows the cause\n")]);
  expect((await call(["show", id])).out).toContain("“disk full”");
});

test("a service without attestations is not reported as a wrong address", async () => {
  const { call, answer } = await openCommandLine();
  const { change_id: id } = await answer(PROPOSE);
  const { err } = await call(["attestation", "get", id]);
  expect(err).toContain("this service attests nothing; start it with --attestation-key PATH");
  expect(err).not.toContain("--url");
});

test("`find` shows an unstated risk as `list` does", async () => {
  const { call } = await openCommandLine();
  await call(PROPOSE);
  await call([...PROPOSE, "--risk", "low"]);
  const { out } = await call(["find", "is:pending"]);
  expect(out.split("\n").slice(1, 3)).toEqual([
    expect.stringMatching(/pending_consent  low +-/),
    expect.stringMatching(/pending_consent  - +-/),
  ]);
});

test("a query and a saved question exclude each other", async () => {
  const { call } = await openCommandLine();
  const { code, err } = await call(["find", "--saved", "waiting-for-me", "some", "words"]);
  expect([code, err]).toEqual([2, expect.stringContaining("give a query or --saved, not both")]);
});

test("on a terminal, an export asks before it moves the store", async () => {
  const { call } = await openCommandLine({});
  const questions: string[] = [];
  const decline = async (question: string) => {
    questions.push(question);
    return false;
  };
  const declined = await call(["export", "e.jsonl"], { columns: 80, confirm: decline });
  expect([declined.code, declined.err]).toEqual([1, expect.stringContaining("nothing was moved")]);
  expect(questions).toEqual([expect.stringContaining("takes no writes")]);
});

test("`show` distinguishes what blocks an apply from mere warnings", async () => {
  const { call, answer } = await openCommandLine({ intent: { policy: { on_conflict: "report" } } });
  const { change_id: first } = await answer(PROPOSE);
  const { change_id: second } = await answer(PROPOSE);
  const { out } = await call(["show", second]);
  expect(out).toContain("Blocks its apply:\n  consent: 0 of 1 consent\n");
  expect(out).toContain(`Warnings:\n  target_conflict: other live changes on this target: ${first}\n`);
  await call(["approve", second, "--approver", "ana"]);
  expect((await call(["show", second])).out).not.toContain("Blocks its apply");
  expect((await call(["apply", second])).code).toBe(0);
});

test("deny, withdraw and revoke end a change, each recorded under its name", async () => {
  const { call, answer } = await openCommandLine();
  const propose = async () => (await answer([...PROPOSE, "--proposer", "pat"])).change_id as string;
  const denied = await propose();
  expect((await call(["deny", denied, "--approver", "ana"])).out).toContain(`${denied}  denied`);
  const withdrawn = await propose();
  expect((await call(["withdraw", withdrawn, "--proposer", "pat"])).out).toContain(`${withdrawn}  withdrawn`);
  const revoked = await propose();
  await call(["approve", revoked, "--approver", "ana"]);
  expect((await call(["revoke", revoked, "--approver", "ana"])).out).toContain(`${revoked}  revoked`);
});

test("a dry run before consent shows the target's value; a change shows drift and relations", async () => {
  const adapter = scriptedAdapter();
  const { call, answer, deps } = await openCommandLine({ adapter });
  const { change_id: old } = await answer([...PROPOSE, "--value", "1", "--proposer", "pat"]);
  const dryRun = async (current: { value: unknown } | null) => {
    adapter.held = async () => current;
    return (await call(["apply", old, "--dry-run"])).out;
  };
  expect(await dryRun({ value: { on: "\u001b[2J" } })).toMatch(
    /pending_consent .*dry run\n[\s\S]*The target holds:\n {2}\{[^\u001b]*\}\n$/,
  );
  expect(await dryRun(null)).toContain("The target holds nothing\n");
  await call(["approve", old, "--approver", "ana"]);
  adapter.held = async () => ({ value: 1 });
  await call(["apply", old]);
  adapter.host.set(old, "absent");
  await checkDrift(deps);
  const { change_id: newer } = await answer([...PROPOSE, "--value", "1", "--supersedes", old]);
  const showText = (await call(["show", old])).out;
  expect(showText).toContain("Drifted: the host product shows nothing of it, seen 2026-");
  expect(showText).toContain(
    `Related changes:\n  Show it (${newer}, pending_consent): waits on this target, supersedes this\n`,
  );
  expect((await call(["show", newer])).out).toContain(
    `  Show it by pat (${old}, applied): is what the target holds, is superseded by this\n`,
  );
});

test("a missing part of a decided change can be added once as a late note, shown as such", async () => {
  const { call, answer } = await openCommandLine();
  const { change_id: id } = await answer([...PROPOSE, "--proposer", "pat"]);
  const addNote = (note: string) => call(["note", id, "--item", "rationale", "--note", note, "--actor", "bo"]);
  expect((await addNote("too soon")).code).toBe(1);
  await call(["deny", id, "--approver", "ana"]);
  expect(await addNote("Support asked\u001b[2J for it")).toMatchObject({
    code: 0,
    out: `${id}  denied, late rationale, entry 4\n`,
  });
  expect((await addNote("again")).err).toContain("one was added already");
  expect((await call(["show", id])).out).toMatch(
    /Late notes:\n {2}rationale, by bo at 2026-\S+: Support asked\\u\{1b\}\[2J for it\n/,
  );
  expect((await call(["note", id, "--item", "verdict", "--note", "x"])).code).toBe(2);
});

test("--json prints the API's response unchanged, also an error", async () => {
  const { call, deps } = await openCommandLine();
  const readApi = async (path: string) => `${await (await app(deps)(get(path))).text()}\n`;
  await call(PROPOSE);
  expect((await call(["list", "--limit", "3", "--json"])).out).toBe(await readApi("/api/product/runtime?limit=3"));
  expect((await call(["whoami", "--json"])).out).toBe(await readApi("/api/whoami"));
  const refused = await call(["show", "chg_none", "--json"]);
  expect(refused.code).toBe(3);
  expect(JSON.parse(refused.out)).toMatchObject({ code: "change_not_found", status: 404 });
  expect(refused.err).toMatch(/^countersign: .*chg_none.*\(change_not_found, request /);
});

test("freeze, unfreeze, state, kpi, audit and whoami work on the service as a whole", async () => {
  const { call, answer } = await openCommandLine();
  expect((await call(["freeze", "--actor", "ana", "--note", "incident"])).out).toMatch(/^frozen, entry \d+\n$/);
  expect((await call(["state"])).out).toMatch(/frozen +yes/);
  expect((await call(["unfreeze", "--actor", "ana"])).out).toMatch(/^not frozen, entry \d+\n$/);
  expect((await answer(["kpi", "csat=4.5", "incident_rate=2e-2", "--actor", "ana"])).accepted).toEqual({
    csat: 4.5,
    incident_rate: 0.02,
  });
  const { out } = await call(["audit", "list", "--event-type", "service_frozen"]);
  expect(out.trim().split("\n")).toHaveLength(2);
  const { head, length } = await answer(["audit", "verify"]);
  const expectedEnd = ["--expected-length", String(length), "--expected-head", head];
  expect(await call(["audit", "verify", ...expectedEnd])).toMatchObject({
    code: 0,
    out: `valid: ${length} entries, head ${head}\n`,
  });
  const wrongEnd = ["--expected-length", String(length), "--expected-head", "a".repeat(64)];
  expect(await call(["audit", "verify", ...wrongEnd])).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^not valid: /),
  });
  expect((await call(["audit", "export"])).out.trim().split("\n")).toHaveLength(length);
  // The `save` of these tests prints the file's name, directly followed by its content.
  expect((await call(["audit", "export", "--csv", "--output", "log.csv"])).out).toMatch(/^log\.csvorigin,id,/);
  expect((await call(["whoami"])).out).toContain("nobody");
});

test("a rollout is held and resumed at the given step", async () => {
  const { call, answer } = await openCommandLine({ intent: { principals: AGENTS } });
  const { change_id: id } = await answer([...PROPOSE, "--value", "true", "--stages", JSON.stringify(STAGES)]);
  await call(["approve", id, "--approver", "ana"]);
  await call(["apply", id]);
  const act = (...words: string[]) => call(["stage", id, ...words, "--actor", "ana"]);
  expect(await act("hold", "--step", "0")).toMatchObject({
    code: 0,
    out: `${id}  step 0, waits for by_hand, entry 5\n`,
  });
  expect((await act("resume", "--step", "1")).err).toContain("(illegal_transition");
  expect((await act("resume", "--step", "0")).out).toContain("step 0, waits for resumed");
  expect((await act("stop", "--step", "0")).err).toContain("stop is not one of hold, resume, advance");
});

test("a certificate is written to a file unchanged", async () => {
  const { call, answer } = await openCommandLine();
  const { change_id } = await answer(PROPOSE);
  await call(["approve", change_id, "--approver", "ana"]);
  expect((await call(["certificate", change_id])).out).toMatch(/^countersign-certificate\/v1\n/);
  // The `save` of these tests prints the file's name, directly followed by its content.
  expect((await call(["certificate", change_id, "--output", "f"])).out).toMatch(/^fcountersign-certificate/);
});

test("an interrupted response is an error, and so is a missing folder for the output", async () => {
  const folder = temporaryFolder();
  const makeBrokenStream = () =>
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("entry 1\n")),
      pull: (controller) => controller.error(new TypeError("terminated")),
    });
  const { call } = await openCommandLine();
  const exportTo = (path: string[], overrides: Partial<Io> = {}) =>
    call(["audit", "export", "--output", join(folder, ...path)], { save: nodeIo.save, ...overrides });
  expect(await exportTo(["log"], { fetch: async () => new Response(makeBrokenStream()) })).toMatchObject({
    code: 1,
    err: expect.stringContaining("has only the beginning of the answer"),
  });
  expect((await exportTo(["none", "log"])).err).toContain("ENOENT");
});

test("`wait` has different exit codes for approved, denied and still pending", async () => {
  const { call, answer } = await openCommandLine();
  const propose = async () => (await answer(PROPOSE)).change_id as string;
  const [approved, denied, pending] = [await propose(), await propose(), await propose()];
  await call(["approve", approved, "--approver", "ana"]);
  await call(["deny", denied, "--approver", "ana"]);
  expect(await call(["wait", approved])).toMatchObject({ code: 0, out: `${approved}  approved\n` });
  expect(await call(["wait", denied])).toMatchObject({ code: 6, out: `${denied}  denied\n` });
  expect(await call(["wait", pending, "--timeout", "0"])).toMatchObject({ code: 7 });
  expect((await call(["wait", pending, "--timeout", "soon"])).code).toBe(2);
});

test("every verb and option has a description, from the API or its own", () => {
  const { commands } = makeProgram(async () => {}, { out: () => {}, err: () => {} });
  const all = commands.flatMap((command) => [command, ...command.commands]);
  expect(all.length).toBeGreaterThan(VERBS.length);
  const withoutDescription = all.flatMap((command) => [
    ...(command.description() === "" ? [command.name()] : []),
    ...command.options.flatMap(({ long, description }) => (description === "" ? [`${command.name()} ${long}`] : [])),
  ]);
  expect(withoutDescription).toEqual([]);
  expect(
    VERBS.flatMap(({ usage, fields = [], operation }) =>
      fields.filter((field) => !(field in OPERATIONS[operation!].fields)).map((field) => `${usage}: ${field}`),
    ),
  ).toEqual([]);
});
