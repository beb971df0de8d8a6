/** Tests scenarios of an intent: how they are read, played against a service, and compared. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadIntent } from "../../../lib/changes/rules/intent.ts";
import { checkIntent } from "../../../local/intent_file.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { compare } from "../../../local/scenarios/compare.ts";
import { replaceCredentials } from "../../../local/scenarios/credentials.ts";
import { play } from "../../../local/scenarios/play.ts";
import { parseScenarios, type Scenario } from "../../../local/scenarios/read.ts";
import { testIntent } from "../../../local/scenarios/test_intent.ts";
import { temporaryFolder } from "../../e2e/server.ts";
import { makeIntent, type Manifest } from "../../support/intents.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";

const EXAMPLE = join(import.meta.dirname, "../../../local/example");

/** Runs one scenario and lists the differences from its expectations. */
async function listDifferences(scenario: Partial<Scenario> & Pick<Scenario, "when" | "expect">, intent: Manifest = {}) {
  const outcome = await play({ name: "one", given: [], ...scenario }, makeIntent(intent).manifest);
  return outcome.differences.map(({ path, message }) => `${path.join(".")} ${message}`);
}

const PROPOSAL = { tenant_id: "t1", kind: "config", target: "ui.banner", value: 1, summary: "Show it" };
const propose = (by?: string, overrides: object = {}) => ({
  by,
  request: "POST /api/product/propose",
  body: { ...PROPOSAL, ...overrides },
});
const act = (action: string, by?: string, overrides: object = {}) => ({
  by,
  request: `POST /api/product/${action}`,
  body: { change_id: "$c1", ...overrides },
});
const proposeAsC1 = (by?: string, overrides: object = {}) => ({ as: "c1", ...propose(by, overrides) });

test("the scenarios of the example intent pass", async () => {
  const { manifest } = loadIntent(await readFile(join(EXAMPLE, "product_intent.json"), "utf8"), sha256);
  const { text, passed } = await testIntent(manifest, join(EXAMPLE, "scenarios.yaml"));
  expect([passed, text]).toEqual([true, expect.stringContaining("7 scenarios pass")]);
});

test("an unexpected response is shown with its line", async () => {
  const path = join(await temporaryFolder(), "scenarios.yaml");
  const scenario = [
    "- name: eve proposes",
    "  when:",
    "    by: eve",
    "    request: POST /api/product/propose",
    `    body: ${JSON.stringify(PROPOSAL)}`,
    "  expect:",
    "    status: 403",
    "    change:",
    "      tier: minor",
  ];
  await writeFile(path, scenario.join("\n"));
  const { text, passed } = await testIntent(makeIntent().manifest, path);
  expect(passed).toBe(false);
  expect(text.split("\n")).toEqual([
    `FAIL  eve proposes (${path}:1)`,
    `        ${path}:7: status expected 403, got 201`,
    `        ${path}:9: change.tier expected "minor", got "standard"`,
    "        POST /api/product/propose answered 201",
    "1 of 1 scenario fails",
  ]);
});

test("--check-intent with scenarios prints the rules first, then whether all scenarios pass", async () => {
  const intent = join(EXAMPLE, "product_intent.json");
  const { text, passed } = await checkIntent(intent, { scenarios: join(EXAMPLE, "scenarios.yaml") });
  expect([passed, text]).toEqual([
    true,
    expect.stringMatching(/^acme-crm [^]*\n- [^]*\n\nok {4}a standard[^]*pass\n$/),
  ]);
  await expect(checkIntent(intent, { scenarios: join(EXAMPLE, "none.yaml") })).rejects.toThrow(
    /^--scenarios .*none\.yaml: ENOENT/,
  );
});

describe("a scenario fails", () => {
  const when = propose("pat");
  const expected = { status: 201 };

  test("if an earlier request is rejected, which is shown", async () => {
    const given = [proposeAsC1("pat"), act("apply", "pat")];
    expect(await listDifferences({ given, when, expect: expected })).toEqual([
      expect.stringMatching(
        /^given\.1 was rejected: POST \/api\/product\/apply answered 400 illegal_transition: cannot apply \$c1: /,
      ),
    ]);
  });

  test.each([
    ["in a body", { ...act("approve", "ana", { change_id: "$c2" }) }, "when.body $c2 stands for nothing"],
    ["in a path", { by: "ana", request: "GET /api/product/changes/$c2" }, "when.request $c2 stands for nothing"],
  ])("if a name is undefined %s", async (_, request, message) => {
    const found = await listDifferences({ given: [proposeAsC1("pat")], when: request, expect: expected });
    expect(found).toEqual([`${message}: did you mean c1?`]);
  });

  test("if two changes get one name, or a response has no change", async () => {
    const sameName = await listDifferences({ given: [proposeAsC1("pat"), proposeAsC1("pat")], when, expect: expected });
    expect(sameName).toEqual(["given.1.as c1 already names a change"]);
    const withoutChange = { as: "c2", by: "pat", request: "GET /api/product/intent" };
    expect(await listDifferences({ given: [withoutChange], when, expect: expected })).toEqual([
      "given.0.as c2: the answer is of no change",
    ]);
  });

  test("if it names an agent that the intent does not list", async () => {
    const intent = { principals: { "agent:pricing": { kind: "agent", token_sha256: "ab".repeat(32) } } };
    expect(await listDifferences({ when: propose("agent:pricin"), expect: expected }, intent)).toEqual([
      "when.by the intent has no agent agent:pricin: did you mean agent:pricing?",
    ]);
  });
});

describe("callers", () => {
  const agent = { kind: "agent", token_sha256: "ab".repeat(32), may: { targets: ["price.*"] } };
  const principals = {
    ana: person(passkey()),
    bo: person(sshSigner("ssh-ed25519")),
    "agent:pricing": agent,
  };

  test("an agent gets a secret of the runner, and its limits apply", async () => {
    const expected = { status: 403, code: "agent_may_not", field: "target" };
    expect(await listDifferences({ when: propose("agent:pricing"), expect: expected }, { principals })).toEqual([]);
  });

  test.each(["ana", "bo"])("%s signs the statements that the service requests", async (by) => {
    const given = [proposeAsC1("agent:pricing", { target: "price.list" })];
    const when = act("approve", by);
    expect(await listDifferences({ given, when, expect: { status: 200 } }, { principals })).toEqual([]);
  });

  test("without a caller a name is not authenticated, and nothing is signed", async () => {
    const given = [proposeAsC1("agent:pricing", { target: "price.list" })];
    const when = act("approve", undefined, { approver: "ana" });
    expect(
      await listDifferences({ given, when, expect: { status: 403, code: "proof_required" } }, { principals }),
    ).toEqual([]);
  });

  test("every action that takes a signature is signed", async () => {
    const policy = { permissions: { apply: ["ana"], rollback: ["ana"], feed_kpis: ["ana"], notes: ["ana"] } };
    const given = [
      proposeAsC1("ana"),
      act("approve", "bo"),
      act("apply", "ana"),
      act("note", "ana", rationaleNote()),
      act("rollback", "ana"),
    ];
    const feed = { by: "ana", request: "POST /api/product/kpi", body: { csat: 4 } };
    const freeze = { by: "ana", request: "POST /api/product/freeze", body: { note: "stop" } };
    const found = await listDifferences(
      {
        given: [...given, feed, freeze],
        when: { ...freeze, request: "POST /api/product/unfreeze" },
        expect: { status: 200 },
      },
      { policy, principals },
    );
    expect(found).toEqual([]);
  });

  test("the runner's credentials change no other field of the intent", () => {
    const { manifest, intent } = makeIntent({ principals, "x-ticket": "GOV-1" });
    const withTestCredentials = replaceCredentials(manifest);
    const reloaded = loadIntent(JSON.stringify(withTestCredentials.intent), sha256).intent;
    const withoutCredentials = ({ policy, principals: known, ...rest }: typeof intent) => ({
      ...rest,
      policy: { ...policy, signing: { ...policy.signing, keys: Object.keys(policy.signing.keys) } },
      principals: Object.entries(known)
        .sort()
        .map(([name, { kind, ...one }]) => [name, kind, "may" in one && one.may]),
    });
    expect(withoutCredentials(reloaded)).toEqual(withoutCredentials(intent));
    expect(reloaded.policy.signing.keys).not.toEqual(intent.policy.signing.keys);
    expect([...withTestCredentials.secrets.values()]).not.toEqual([...replaceCredentials(manifest).secrets.values()]);
  });
});

const rationaleNote = () => ({ item: "rationale", note: "asked by support" });

test("time passes between requests, and the service runs its cycles", async () => {
  const policy = { consent_ttl_hours: 72 };
  const at = (time: string) => `2026-03-${time}:00Z`;
  const given = [{ ...proposeAsC1("pat"), at: at("02T09:00") }];
  const read = { request: "GET /api/product/changes/$c1" };
  const differencesAt = (time: string, status: string) =>
    listDifferences({ given, when: { ...read, at: at(time) }, expect: { "change.status": status } }, { policy });
  expect(await differencesAt("05T08:59", "pending_consent")).toEqual([]);
  // The limit ends at 09:00; a cycle records the expiry once clock samples ten minutes apart confirm the time.
  expect(await differencesAt("05T09:11", "denied")).toEqual([]);
});

test("the first request is sent at the first time that a scenario states", async () => {
  // If the proposal had an earlier time than the approval, it would have expired after an hour.
  const policy = { consent_ttl_hours: 1 };
  const when = { ...act("approve", "ana"), at: "2026-12-24T10:00:00+01:00" };
  const expected = { status: 200, "audit_entry.timestamp": "2026-12-24T09:00:00.000Z" };
  expect(await listDifferences({ given: [proposeAsC1("pat")], when, expect: expected }, { policy })).toEqual([]);
});

test("a value that begins with two dollar signs is a text, not a name", async () => {
  const when = propose("pat", { value: "$$c1" });
  expect(await listDifferences({ when, expect: { status: 201, value: "$c1" } })).toEqual([]);
});

describe("compare", () => {
  test.each([
    ["a part of an object", { a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }],
    ["a member by its dotted name", { "a.b": 1 }, { a: { b: 1 } }],
    ["a name that has a dot itself", { "a.b": 1 }, { "a.b": 1 }],
    ["items in any order", [{ b: 1 }, { a: 1 }], [{ a: 1 }, { c: 1 }, { b: 1 }]],
    ["nothing for null", { a: null }, {}],
    ["an empty list for an empty one", { a: [] }, { a: [] }],
  ])("takes %s", (_, expected, found) => {
    expect(compare(expected, found)).toEqual([]);
  });

  test.each([
    ["another value", { a: 1 }, { a: 2 }, ["a"], "expected 1, got 2"],
    ["text for a number", { a: 1 }, { a: "1" }, ["a"], 'expected 1, got "1"'],
    ["a missing member", { a: { b: 1 } }, { a: {} }, ["a", "b"], "expected 1, got nothing"],
    ["a value for null", { a: null }, { a: false }, ["a"], "expected null, got false"],
    ["an item for an empty list", { a: [] }, { a: [1] }, ["a"], "expected [], got [1]"],
    ["one item for two", [1, 1], [1], [1], "expected an item 1, got [1]"],
    ["no object for one", { a: { b: 1 } }, { a: [1] }, ["a"], 'expected {"b":1}, got [1]'],
  ])("reports %s", (_, expected, found, path, message) => {
    expect(compare(expected, found)).toEqual([{ path, message }]);
  });
});

describe("a file of scenarios", () => {
  const SCENARIO = `- name: one
  given:
    - as: c1
      by: pat
      at: 2026-01-01T10:00:00Z
      request: POST /api/product/propose
      body: {}
  when:
    by: ana
    at: 2026-01-01T11:00:00Z
    request: POST /api/product/approve
    body: {}
  expect:
    status: 200
`;

  const FIELDS = [...SCENARIO.matchAll(/^[ -]+([a-z]+):/gm)].map(([line, field]) => [field!, line] as const);

  // Below `expect`, any name of a member is valid.
  test.each(FIELDS.filter(([field]) => field !== "status"))(
    "%s misspelt by one letter is rejected with its line and the nearest name (%#)",
    (field, line) => {
      // A name of two letters is too short to be recognised without one of them.
      const misspelled = field.length === 2 ? `${field}x` : field.slice(0, -1);
      const text = SCENARIO.replace(line, line.replace(field, misspelled));
      const number = SCENARIO.slice(0, SCENARIO.indexOf(line)).split("\n").length;
      const where = field === "name" ? "scenario 1" : 'scenario "one"';
      expect(() => parseScenarios(text)).toThrow(
        new RegExp(`line ${number}, ${where}: [\\w. ]+ has no field ${misspelled}: did you mean ${field}\\?`),
      );
    },
  );

  test.each([
    [
      "a required field is missing",
      SCENARIO.replace(/ {2}when:[^]*(?= {2}expect)/, ""),
      'line 1, scenario "one": when is required',
    ],
    ["a time is incomplete", SCENARIO.replace("T11:00:00Z", ""), 'line 10, scenario "one": when.at must be a time'],
    [
      "a time goes back",
      SCENARIO.replace("T11:", "T09:"),
      'line 10, scenario "one": when.at is before the time of an earlier request',
    ],
    [
      "a request has no method",
      SCENARIO.replace("POST /api/product/approve", "approve"),
      'line 11, scenario "one": when.request must be a method',
    ],
    [
      "the status is a word",
      SCENARIO.replace("status: 200", "status: approved"),
      "the status of a change is change.status",
    ],
    [
      "nothing is expected",
      SCENARIO.replace("    status: 200\n", "    {}\n"),
      "expect must name a member of the answer",
    ],
    ["it is not a list", "name: one", "line 1: the file must be a list"],
    ["it is empty", "[]", "line 1: the file must hold a scenario"],
    ["it is not YAML", `${SCENARIO}- name: [`, "line 15: "],
    [
      "a field is repeated",
      SCENARIO.replace("    by: ana\n", "    by: ana\n    by: bo\n"),
      "line 10: Map keys must be unique",
    ],
  ])("is rejected where %s", (_, text, message) => {
    expect(() => parseScenarios(text)).toThrow(message);
  });

  test("may be JSON", () => {
    const { scenarios } = parseScenarios(SCENARIO);
    expect(parseScenarios(JSON.stringify(scenarios)).scenarios).toEqual(scenarios);
  });
});
