/**
 * Tests decisions signed with real SSH keys, in a file and in the SSH agent. Entry 1 of each log is the intent in force, entry 2
 * the first proposal.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { app } from "../../../handlers/index.ts";
import { canonicalContent, type Content } from "../../../lib/changes/rules/content.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Io } from "../../../local/command_line/run.ts";
import { listFirstSteps } from "../../../local/first_steps.ts";
import { nodeIo } from "../../../local/command_line/node_io.ts";
import { temporaryFolder } from "../../e2e/server.ts";
import { rewindingStore } from "../../support/rewinding_store.ts";
import { type CommandLine, openCommandLine, PROPOSE } from "./open_command_line.ts";

const hasSshKeygen = spawnSync("ssh-keygen", ["-?"]).error === undefined;
if (!hasSshKeygen) process.stderr.write("signing on the command line is not tested: there is no ssh-keygen here\n");

const folder = temporaryFolder();
const ana = join(folder, "ana");
const eve = join(folder, "eve");
const ANA = "ana@acme.example";

describe.skipIf(!hasSshKeygen)("with ssh-keygen", () => {
  beforeAll(() => {
    for (const key of [ana, eve]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key]);
  });

  const openWithKeys = (policy: object = {}, store: Store = memoryStore()): Promise<CommandLine> =>
    openCommandLine({
      store,
      intent: {
        policy,
        principals: {
          [ANA]: {
            kind: "person",
            keys: [{ type: "ssh", public_key: readFileSync(`${ana}.pub`, "utf8"), unattended: true }],
          },
        },
      },
    });
  const REAL_PROGRAMS: Partial<Io> = { run: nodeIo.run };
  const propose = async ({ answer }: CommandLine): Promise<string> => (await answer(PROPOSE)).change_id;
  const signArguments = (verb: string, id: string, ...more: string[]): string[] => [
    verb,
    id,
    "--approver",
    ANA,
    "--key",
    ana,
    ...more,
  ];

  test("an approval is shown, confirmed, signed, and counts", async () => {
    const line = await openWithKeys();
    const id = await propose(line);
    const unsigned = await line.call(["approve", id, "--approver", ANA]);
    expect(unsigned).toMatchObject({ code: 1, err: expect.stringContaining("--key ~/.ssh/id_ed25519") });
    const questions: string[] = [];
    const confirm = async (question: string) => questions.push(question) > 0;
    const { code, out, err } = await line.call(signArguments("approve", id, "--note", "fine"), {
      ...REAL_PROGRAMS,
      confirm,
    });
    expect([code, out]).toEqual([0, `${id}  approved, entry 3\n`]);
    expect(questions).toEqual(["Sign it?"]);
    for (const shown of ["Show it", '"decision": "approve"', '"note": "fine"', `"approver": "${ANA}"`])
      expect(err).toContain(shown);
    const change = await line.answer(["show", id]);
    expect(change.signers).toMatchObject([{ approver: ANA, authenticated: "signature_unattended" }]);
    const sent = line.requests.filter(({ url }) => url.endsWith("/approve")).at(-1)!;
    // The revision of the change that was shown.
    expect(sent.headers.get("if-match")).toBe('"1"');
    expect((await line.call(signArguments("revoke", id, "--yes"), REAL_PROGRAMS)).out).toContain("revoked");
  });

  test("a proposal is signed as it will be recorded: trimmed, in normal form, as first spelled", async () => {
    const line = await openWithKeys();
    const id = (
      await line.answer(["propose", "--tenant-id=caf\u00e9", "--kind=config", "--target=UI.Banner", "--summary=x"])
    ).change_id;
    await line.answer(signArguments("approve", id, "--yes"), REAL_PROGRAMS);
    await line.answer(["apply", id]);
    const typed = [
      "--tenant-id= cafe\u0301",
      "--kind=config",
      "--target=ui.banner",
      "--summary= Show it ",
      "--value=1",
    ];
    const { out, err } = await line.call(
      ["propose", ...typed, "--proposer", ANA, "--key", ana, "--yes"],
      REAL_PROGRAMS,
    );
    expect(err).toContain("UI.Banner");
    expect(out).toContain("as it was first applied; the request spelled it ui.banner");
    const { changes } = await line.answer(["list"]);
    expect(changes[0]).toMatchObject({ tenant_id: "caf\u00e9", target: "UI.Banner", summary: "Show it" });
  });

  test("without a confirmation nothing is signed and nothing is sent", async () => {
    const line = await openWithKeys();
    const id = await propose(line);
    const run = vi.fn<Io["run"]>();
    const declined = await line.call(signArguments("approve", id), { run, confirm: async () => false });
    expect(declined).toMatchObject({ code: 1, out: "", err: expect.stringContaining("nothing was signed") });
    // There is no terminal in which the program could ask.
    expect((await line.call(signArguments("approve", id), { run, confirm: nodeIo.confirm })).code).toBe(2);
    expect(run).not.toHaveBeenCalled();
    expect((await line.answer(["show", id])).status).toBe("pending_consent");
  });

  test("a key of the agent signs by its .pub file, without the private file", async () => {
    const line = await openWithKeys();
    const id = await propose(line);
    const socket = join(folder, "agent");
    const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void agent.kill());
    await once(agent.stdout, "data");
    vi.stubEnv("SSH_AUTH_SOCK", socket);
    onTestFinished(() => void vi.unstubAllEnvs());
    execFileSync("ssh-add", ["-q", ana]);
    const privateKey = readFileSync(ana);
    rmSync(ana);
    onTestFinished(() => writeFileSync(ana, privateKey, { mode: 0o600 }));
    const called = await line.call(["deny", id, "--approver", ANA, "--key", `${ana}.pub`, "--yes"], REAL_PROGRAMS);
    expect(called).toMatchObject({ code: 0, out: `${id}  denied, entry 3\n` });
  });

  test("a late note is signed with its item", async () => {
    const line = await openWithKeys();
    const id = await propose(line);
    await line.answer(signArguments("deny", id, "--yes"), REAL_PROGRAMS);
    const note = ["note", id, "--item", "rationale", "--note", "Support asked for it.", "--actor", ANA];
    expect(await line.call(note)).toMatchObject({ code: 1, err: expect.stringContaining("(proof_required") });
    const { code, out, err } = await line.call([...note, "--key", ana, "--yes"], REAL_PROGRAMS);
    expect([code, out]).toEqual([0, `${id}  denied, late rationale, entry 4\n`]);
    for (const shown of ['"decision": "note"', '"item": "rationale"']) expect(err).toContain(shown);
    const { audit_entries } = await line.answer(["show", id]);
    expect(JSON.parse(audit_entries.at(-1).detail)).toMatchObject({ authenticated: "signature_unattended" });
  });

  test("apply, rollback and kpi are signed if the intent lists who may do them", async () => {
    const line = await openWithKeys({ permissions: { apply: [ANA], rollback: [ANA], feed_kpis: [ANA] } });
    const id = await propose(line);
    await line.answer(signArguments("approve", id, "--yes"), REAL_PROGRAMS);
    const act = (verb: string[], ...more: string[]) =>
      line.call([...verb, "--actor", ANA, "--note", "due", ...more, "--yes"], REAL_PROGRAMS);
    for (const verb of [
      ["apply", id],
      ["kpi", "csat=4.5"],
    ]) {
      expect((await line.call([...verb, "--actor", ANA])).err).toContain("(proof_required");
      expect(await act(verb, "--key", ana)).toMatchObject({ code: 0 });
    }
    const rollback = await act(["rollback", id], "--over-drift", "--key", ana);
    expect([rollback.code, rollback.err.includes('"over_drift": true')]).toEqual([0, true]);
    const { status, audit_entries } = await line.answer(["show", id]);
    expect(status).toBe("rolled_back");
    // The entries after the proposal and the approval.
    for (const { detail } of audit_entries.slice(2))
      expect(JSON.parse(detail)).toMatchObject({ actor: ANA, authenticated: "signature_unattended" });
  });

  test("freeze and unfreeze are signed too", async () => {
    const line = await openWithKeys();
    const act = (verb: string, ...more: string[]) =>
      line.call([verb, "--actor", ANA, "--key", ana, "--yes", ...more], REAL_PROGRAMS);
    expect((await act("freeze", "--until", "2026-01-02T05:00:00Z")).out).toContain(
      "frozen until 2026-01-02T05:00:00.000Z",
    );
    expect((await line.call(["unfreeze", "--actor", ANA])).code).toBe(1);
    const run = vi.fn<Io["run"]>();
    for (const until of ["soon", "2026-01-02"])
      expect(
        await line.call(["freeze", "--actor", ANA, "--key", ana, "--yes", "--until", until], { run }),
      ).toMatchObject({ code: 2, err: expect.stringContaining("until must be a time such as") });
    expect(run).not.toHaveBeenCalled();
    expect((await act("unfreeze", "--note", "over")).out).toMatch(/^not frozen/);
  });

  test("accept-loss signs the end of the log that it accepts", async () => {
    const { store, copy, goBack } = rewindingStore();
    const line = await openWithKeys({}, store);
    await propose(line);
    const before = await copy();
    const lost = JSON.parse((await line.call([...PROPOSE, "--json"])).out).audit_entry.id as number;
    await goBack(before);
    expect(await line.call(PROPOSE)).toMatchObject({ code: 4, err: expect.stringContaining("(chain_broken") });
    const { length, head } = (await readHead(store))!;
    const accept = (end: string, ...more: string[]) =>
      line.call(["accept-loss", "--actor", ANA, "--length", String(length), "--head", end, ...more], REAL_PROGRAMS);
    expect(await accept(head)).toMatchObject({ code: 1, err: expect.stringContaining("(proof_required") });
    expect(await accept("a".repeat(64), "--key", ana, "--yes")).toMatchObject({
      code: 2,
      err: expect.stringContaining("(invalid_field"),
    });
    const { code, out, err } = await accept(head, "--note", "failover", "--key", ana, "--yes");
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(
        `entries up to ${lost} may be lost, the log continues from ${length}; the service is frozen`,
      ),
    ]);
    for (const shown of ['"decision": "accept_loss"', `"length": ${length}`, head]) expect(err).toContain(shown);
    await propose(line);
  });

  test("a person who is not authenticated otherwise proposes with a signature", async () => {
    const line = await openWithKeys({ self_approval: false });
    const proposalArguments = [...PROPOSE, "--rationale", "why", "--value", '{"on":true}', "--proposer", ANA];
    const unsigned = await line.call(proposalArguments);
    expect(unsigned).toMatchObject({ code: 1, err: expect.stringContaining("(proposer_unknown") });
    expect(unsigned.err).toContain("--key ~/.ssh/id_ed25519");
    const { code, out, err } = await line.call(
      [...proposalArguments, "--no-reversible", "--key", ana, "--yes"],
      REAL_PROGRAMS,
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/^chg_\S+  pending_consent\n/)]);
    for (const shown of ["Show it", "why", '{"on":true}', /tier +major/, /reversible +no/, '"decision": "propose"'])
      expect(err).toMatch(shown);
    const [{ change_id }] = (await line.answer(["list"])).changes;
    const { audit_entries } = await line.answer(["show", change_id]);
    expect(JSON.parse(audit_entries[0].detail)).toMatchObject({ authenticated: "signature_unattended" });
    expect(await line.call([...PROPOSE, "--key", ana, "--yes"], REAL_PROGRAMS)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--key needs --proposer"),
    });
  });

  test("a promotion is signed for exactly the value that it adopts", async () => {
    const line = await openWithKeys();
    const { change_id: promotes } = await line.answer([...PROPOSE, "--value", '{"on":true}']);
    const proposalArguments = [
      "propose",
      "--tenant-id=production",
      "--summary=x",
      "--promotes",
      promotes,
      "--proposer",
      ANA,
    ];
    const { code, err } = await line.call([...proposalArguments, "--key", ana, "--yes"], REAL_PROGRAMS);
    expect([code, err]).toEqual([0, expect.stringContaining('{"on":true}')]);
    expect(err).toContain(promotes);
  });

  test("another person's key, a missing key and a missing name are reported", async () => {
    const line = await openWithKeys();
    const id = await propose(line);
    const approveWith = (key: string) =>
      line.call(["approve", id, "--approver", ANA, "--key", key, "--yes"], REAL_PROGRAMS);
    expect(await approveWith(eve)).toMatchObject({ code: 1, err: expect.stringContaining("(proof_invalid") });
    expect(await approveWith(join(folder, "none"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("ssh-keygen did not sign"),
    });
    const nameless = await line.call(["approve", id, "--key", ana, "--yes"], REAL_PROGRAMS);
    expect(nameless).toMatchObject({ code: 2, err: expect.stringContaining("--key needs --approver") });
  });

  describe("only a statement that matches what the service shows is signed", () => {
    const alterResponse =
      (path: string, alter: (body: Record<string, unknown>) => void) =>
      async (line: CommandLine, request: Request): Promise<Response> => {
        const response = await app(line.deps)(request);
        if (!new URL(request.url).pathname.includes(path)) return response;
        const body = await response.json();
        alter(body);
        return Response.json(body);
      };
    const withOtherContent = (body: Record<string, unknown>): void => {
      const content = { ...(body["content"] as Content), value: "other" };
      const alteredStatement = {
        ...JSON.parse(body["statement"] as string),
        digest: sha256(canonicalContent(content)),
      };
      Object.assign(body, { content, statement: JSON.stringify(alteredStatement) });
    };
    const alterStatement = (overrides: object) =>
      alterResponse("/consent-statement", (body) => {
        const facts = { ...JSON.parse(body["statement"] as string), ...overrides };
        // A statement is canonical JSON, so its members are sorted.
        body["statement"] = JSON.stringify(facts, Object.keys(facts).sort());
      });

    test.each([
      ["another decision", alterStatement({ decision: "approve_emergency" })],
      ["another change", alterStatement({ change_id: "chg_other" })],
      ["another name", alterStatement({ approver: "bo@acme.example" })],
      ["another note", alterStatement({ note: "and all others" })],
      ["another intent", alterStatement({ manifest_hash: "a".repeat(64) })],
      ["another log", alterStatement({ origin: "acme-crm/audit/ff" })],
      ["more than a statement has", alterStatement({ also: "x" })],
      ["no statement at all", alterResponse("/consent-statement", (body) => void (body["statement"] = "sign here"))],
      ["another time", alterStatement({ at: "2027-01-02T03:04:05.678Z" })],
      ["another change than requested", alterResponse("/changes/", (body) => void (body["change_id"] = "chg_other"))],
      ["other content than the digest", alterResponse("/changes/", (body) => void (body["summary"] = "Harmless"))],
      ["the digest of other content", alterResponse("/changes/", (body) => void (body["digest"] = "a".repeat(64)))],
    ])("%s", async (_, fetch) => {
      const line = await openWithKeys();
      const id = await propose(line);
      const run = vi.fn<Io["run"]>();
      const called = await line.call(signArguments("approve", id, "--yes"), {
        run,
        fetch: (request) => fetch(line, request),
      });
      expect(called).toMatchObject({ code: 1, out: "" });
      expect(called.err).toMatch(/nothing was signed|sign nothing/);
      expect(run).not.toHaveBeenCalled();
    });

    test.each([
      ["another proposal", alterStatement({ digest: "a".repeat(64) })],
      ["other content than typed", alterResponse("/consent-statement", withOtherContent)],
      ["another decision than to propose", alterStatement({ decision: "approve" })],
      ["a change that exists already", alterStatement({ change_id: "chg_other" })],
    ])("%s", async (_, fetch) => {
      const line = await openWithKeys();
      const run = vi.fn<Io["run"]>();
      const called = await line.call([...PROPOSE, "--proposer", ANA, "--key", ana, "--yes"], {
        run,
        fetch: (request) => fetch(line, request),
      });
      expect(called).toMatchObject({ code: 1, out: "", err: expect.stringContaining("nothing was signed") });
      expect(run).not.toHaveBeenCalled();
      expect((await line.answer(["list"])).total).toBe(0);
    });
  });

  test("the commands suggested at the first start sign if a name alone would be rejected", async () => {
    const BO = "bo@acme.example";
    const personWithKey = (file: string) => ({
      kind: "person",
      keys: [{ type: "ssh", public_key: readFileSync(`${file}.pub`, "utf8"), unattended: true }],
    });
    const principals = { [BO]: personWithKey(eve), [ANA]: personWithKey(ana) };
    const line = await openCommandLine({ intent: { principals, policy: { self_approval: false, approvers: [ANA] } } });
    const commands = listFirstSteps("http://127.0.0.1:8420", line.deps.product!.intent, {
      writes: false,
      reads: false,
    });
    const [propose, approve] = commands.map((command) => command.split(" "));
    expect([propose![0], approve![0]]).toEqual(["countersign", "countersign"]);
    const called = (words: string[], key: string, id = "") =>
      line.call(
        [...words.slice(1).map((word) => word.replace("KEY_FILE", key).replace("CHANGE_ID", id)), "--yes"],
        REAL_PROGRAMS,
      );
    const { out } = await called(propose!, eve);
    const id = out.split(" ")[0]!;
    expect((await called(approve!, ana, id)).out).toContain(`${id}  approved`);
  });
});
