/** Tests the commands for mandates, signed with the keys of a test. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import type { Io } from "../../../local/command_line/run.ts";
import { sshSigner } from "../../support/passkeys.ts";
import { AS_AGENT, PROPOSAL_WITHIN_BOUNDS, MANDATE_INTENT, SIGNERS, PRINCIPALS } from "../../support/mandates.ts";
import { json } from "../../support/requests.ts";
import { person } from "../../support/signed.ts";
import { openCommandLine } from "./open_command_line.ts";

const una = sshSigner();
const ALL_SIGNERS = { ...SIGNERS, una };
const INTENT = { ...MANDATE_INTENT, principals: { ...PRINCIPALS, una: person(una) } };
const DRAFT = [
  ..."mandate draft --agent agent:pricing --max-per-day 3 --until 2026-01-20T00:00:00Z".split(" "),
  ...["--targets", '["price.*"]', "--kinds", '["config"]', "--tenants", '["t1"]'],
  ...["--limits", '{"schema":{"type":"number","maximum":500}}', "--note", "Prices follow\u001b[2J the market."],
];

/** Signs like `ssh-keygen`, whose last argument is the key: in these tests the signer's name in place of a file. */
const SIGN_WITH_KEYS: Partial<Io> = {
  run: async (_program, args, statement) => ALL_SIGNERS[args.at(-1) as "una"].sign(statement).signature as string,
};

async function openWithMandates() {
  const line = await openCommandLine({ intent: INTENT });
  const act = (command: string, name: "bo" | "una", ...more: string[]) =>
    line.call([...command.split(" "), "--approver", name, "--key", name, "--yes", ...more], SIGN_WITH_KEYS);
  return { ...line, act };
}

test("a mandate is drafted, signed, narrowed, shown, resumed and revoked", async () => {
  const { call, answer, act, deps } = await openWithMandates();
  const { mandate_id: id } = await answer(DRAFT);
  expect((await call(["mandate", "sign", id, "--approver", "bo"])).err).toContain("(proof_required");
  expect(await act(`mandate sign ${id}`, "bo")).toMatchObject({
    code: 0,
    out: expect.stringMatching(new RegExp(`^${id}  draft, entry \\d+\n  missing  required_approvers: 1 of `)),
    err: expect.stringMatching(/max_per_day +3\n[\s\S]*"limits": \{/),
  });
  expect((await act(`mandate sign ${id}`, "una")).out).toMatch(/active, entry \d+\n$/);
  const propose = () => app(deps)(json("propose", PROPOSAL_WITHIN_BOUNDS, AS_AGENT)).then((reply) => reply.json());
  const { change_id } = (await propose()) as { change_id: string };
  expect((await act(`mandate narrow ${id}`, "bo", "--narrow", '{"max_per_day":2}')).err).toContain('"narrow": {');
  const { out } = await call(["mandate", "show", id]);
  for (const shown of [`${id}  active`, "max_per_day  2", "1 used, 1 left", "follow\\u{1b}[2J the", "bo at 2026-"])
    expect(out).toContain(shown);
  // The rollback of a change suspends its mandate.
  await call(["apply", change_id]);
  await call(["rollback", change_id]);
  const listed = (await call(["mandate", "list", "--state", "suspended"])).out.split("\n");
  expect(listed[1]).toMatch(new RegExp(`^${id}  suspended  agent:pricing  2026-\\S+ +1 +price\\.\\*$`));
  await act(`mandate resume ${id}`, "bo");
  expect((await act(`mandate resume ${id}`, "una")).out).toMatch(/active, entry \d+\n$/);
  expect((await act(`mandate revoke ${id}`, "una")).out).toMatch(/ended, entry \d+\n$/);
  const { mandate_id: unsigned } = await answer(DRAFT);
  expect((await act(`mandate revoke ${unsigned}`, "bo")).out).toBe(`${unsigned}  ended, removed\n`);
  // 3: no such mandate.
  expect((await call(["mandate", "show", unsigned])).code).toBe(3);
});

test("a mandate is not signed if the service shows other bounds than it asks to be signed", async () => {
  const { answer, call, deps, act } = await openWithMandates();
  const { mandate_id: id } = await answer(DRAFT);
  const alteringFetch: Io["fetch"] = async (request) => {
    const reply = await app(deps)(request);
    if (!request.url.includes("/mandates/")) return reply;
    return Response.json({ ...((await reply.json()) as object), max_per_day: 1 });
  };
  const command = ["mandate", "sign", id, "--approver", "bo", "--key", "bo", "--yes"];
  expect(await call(command, { fetch: alteringFetch })).toMatchObject({
    code: 1,
    err: expect.stringContaining("nothing was signed"),
  });
  expect((await act(`mandate sign ${id}`, "bo")).code).toBe(0);
});
