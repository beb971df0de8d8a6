/** Tests the options of the program and their environment variables, errors, warnings, and the capabilities that follow. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { listCapabilities } from "../../local/capabilities.ts";
import { COSIGNATURE, formatVerifierKey } from "../../lib/audit/note.ts";
import { sha256 } from "../../local/node_ports.ts";
import { OptionError, parseOptions, type Environment, type Options } from "../../local/options.ts";
import { helpText, TABLE, toVariableName } from "../../local/options_table.ts";

function parseRunOptions(argv: string[], env: Environment = {}): Options {
  const parsed = parseOptions(argv, env);
  if (parsed.kind !== "run") throw new Error("expected options");
  return parsed.options;
}

function parseError(argv: string[], env: Environment = {}): OptionError {
  try {
    parseOptions(argv, env);
  } catch (error) {
    if (error instanceof OptionError) return error;
    throw error;
  }
  throw new Error("expected an error");
}

const folder = mkdtempSync(join(tmpdir(), "options-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a text to a new file and returns its path. */
function writeTemporary(text: string): string {
  const path = join(folder, `${randomUUID()}.txt`);
  writeFileSync(path, text);
  return path;
}
const linkSecretFile = writeTemporary("0123456789abcdef\n");

const IDENTITY_FILE = writeTemporary(
  '{"preset": "cloudflare-access", "issuer": "https://acme.cloudflareaccess.com", "audience": "4714c1358e65fe4b"}',
);

const witnessVkey = (byte: number) => {
  const key = { name: `w${byte}.example`, publicKey: new Uint8Array(32).fill(byte) };
  return formatVerifierKey(key, sha256, COSIGNATURE);
};
const [W1, W2] = [witnessVkey(1), witnessVkey(2)];

/** The path of a valid --targets file. */
const TARGETS = fileURLToPath(new URL("targets/targets.json", import.meta.url));

/** Each option with a valid text and its parsed value; the type requires every option. */
const SAMPLES: { [K in keyof typeof TABLE]: [string, unknown] } = {
  host: ["127.0.0.2", "127.0.0.2"],
  port: ["9000", 9000],
  allowedHosts: ["Gov.Example, 10.0.0.5", ["gov.example", "10.0.0.5"]],
  identityHeader: ["X-Person", "x-person"],
  identityJwt: [IDENTITY_FILE, IDENTITY_FILE],
  attestationKey: ["attest.pem", "attest.pem"],
  gateIssuers: ["issuers.json", "issuers.json"],
  ofrepTenant: ["org", "org"],
  exitWhenReadOnly: ["1", "1"],
  state: ["/var/lib/cs/state.json", "/var/lib/cs/state.json"],
  storeName: ["acme-crm", "acme-crm"],
  uiDir: ["ui", "ui"],
  evolvedDir: ["reports", "reports"],
  productIntent: ["intent.json", "intent.json"],
  productConfig: ["config.json", "config.json"],
  targets: [TARGETS, TARGETS],
  productAdapter: ["https://crm.example/hook", "https://crm.example/hook"],
  agentId: ["agent-7", "agent-7"],
  nodeId: ["node-7", "node-7"],
  instanceId: ["acme@seven", "acme@seven"],
  crossLinkPort: ["9100", 9100],
  crossLinkSecrets: ["0123456789abcdef,fedcba9876543210", ["0123456789abcdef", "fedcba9876543210"]],
  crossLinkSecretFile: [linkSecretFile, linkSecretFile],
  crossLinkPeers: [
    "peer.example:9100,[::1]:9101",
    [
      { host: "peer.example", port: 9100 },
      { host: "::1", port: 9101 },
    ],
  ],
  crossLinkHost: ["::1", "::1"],
  auditKey: ["audit.pem", "audit.pem"],
  auditAnchor: ["https://anchor.example/", "https://anchor.example/"],
  auditOtlp: ["https://otel.example:4318", "https://otel.example:4318"],
  auditWitnesses: ["https://w1.example/, http://w2.example/a", ["https://w1.example", "http://w2.example/a"]],
  auditWitnessKeys: [
    `${W1},${W2}`,
    [
      { name: "w1.example", publicKey: new Uint8Array(32).fill(1) },
      { name: "w2.example", publicKey: new Uint8Array(32).fill(2) },
    ],
  ],
  witnessFor: ["logs.txt", "logs.txt"],
  witnessKey: ["witness.pem", "witness.pem"],
  witnessName: ["witness.example/w1", "witness.example/w1"],
  llm: ["openai", "openai"],
  llmBaseUrl: ["https://llm.example/anthropic/v1", "https://llm.example/anthropic/v1"],
  llmModel: ["m-1", "m-1"],
  llmKeyEnv: ["MY_KEY", "MY_KEY"],
  llmCallsPerHour: ["50", 50],
  llmTimeout: ["5", 5],
  notifyUrl: ["https://hooks.example/x", "https://hooks.example/x"],
  notifyFormat: ["slack", "slack"],
  publicUrl: ["https://Gov.example/console/", "https://gov.example/console"],
  cycleInterval: ["2.5", 2.5],
};
const SECRET: Environment = {
  SVC_CROSS_LINK_SECRET: "0123456789abcdef",
  SVC_NOTIFY_SECRET: "0123456789abcdef",
  SVC_ADAPTER_SECRET: "0123456789abcdef",
};
/** Values of options that other options require. */
const REQUIRED_OPTIONS: Environment = {
  SVC_AUDIT_KEY: "audit.pem",
  SVC_AUDIT_WITNESS: "https://w1.example,https://w2.example",
  SVC_AUDIT_WITNESS_KEY: `${W1},${W2}`,
  SVC_WITNESS_FOR: "logs.txt",
  SVC_WITNESS_KEY: "witness.pem",
  SVC_WITNESS_NAME: "witness.example/w1",
  SVC_LLM: "openai",
};
/** A database as the store, which --store-name requires. */
const DATABASE: Environment = { SVC_STATE: "postgres://cs@db/cs" };
const SAMPLE_ROWS = Object.entries(SAMPLES).map(([key, [text, value]]) => {
  const { flag } = TABLE[key as keyof typeof TABLE];
  const { SVC_CROSS_LINK_SECRET, ...others } = { ...SECRET, ...REQUIRED_OPTIONS };
  const state = key === "storeName" ? DATABASE : {};
  // The secret and the file of secrets exclude each other.
  const env = { ...others, ...state, ...(key !== "crossLinkSecretFile" && { SVC_CROSS_LINK_SECRET }) };
  return { key: key as keyof Options, flag, variable: toVariableName(flag), text, value, env };
});

describe.each(SAMPLE_ROWS)("--$flag", ({ key, flag, variable, text, value, env }) => {
  test("is read as --name value, --name=value and from the environment", () => {
    expect(parseRunOptions([`--${flag}`, text], env)[key]).toEqual(value);
    expect(parseRunOptions([`--${flag}=${text}`], env)[key]).toEqual(value);
    expect(parseRunOptions([], { ...env, [variable]: text })[key]).toEqual(value);
  });
  test("overrides the environment variable, which is then not parsed", () => {
    expect(parseRunOptions([`--${flag}`, text], { ...env, [variable]: "\n" })[key]).toEqual(value);
  });
  test("counts as unset when its variable is empty", () => {
    expect(parseRunOptions([], { [variable]: "" })[key]).toEqual(parseRunOptions([])[key]);
  });
  test("is rejected without a value, with exit code 2", () => {
    for (const argv of [[`--${flag}`], [`--${flag}=`], [`--${flag}`, "--port=1"]]) {
      expect(parseError(argv)).toMatchObject({ exitCode: 2, message: `--${flag} needs a value; see --help` });
    }
  });
  test("is in the help text with its variable", () => {
    expect(helpText()).toMatch(new RegExp(`^ {2}--${flag} `, "m"));
    expect(helpText()).toMatch(new RegExp(`\\b${variable}\\]$`, "m"));
  });
});

test("the variables are named after the options", () => {
  expect(["svc-node-id", "svc-instance-id", "cross-link-secret", "port"].map(toVariableName)).toEqual([
    "SVC_NODE_ID",
    "SVC_INSTANCE_ID",
    "SVC_CROSS_LINK_SECRET",
    "SVC_PORT",
  ]);
});

test("options have their documented defaults", () => {
  expect(parseRunOptions([])).toMatchObject({
    host: "127.0.0.1",
    port: 8420,
    state: "data/state.json",
    evolvedDir: "data/evolved",
    isEvolvedDirGiven: false,
    agentId: "local",
    nodeId: "local",
    instanceId: undefined,
    crossLinkHost: "127.0.0.1",
    cycleInterval: 60,
    productIntent: undefined,
    adminToken: undefined,
    protectAll: false,
    warnings: [],
  });
});

test("some defaults are derived from other options", () => {
  const options = parseRunOptions(["--state=/srv/a/s.json", "--agent-id=a7", "--host=::1"]);
  expect(options).toMatchObject({ evolvedDir: "/srv/a/evolved-s", nodeId: "a7", crossLinkHost: "::1" });
});

test("--store-name needs a database; the name of a file store is its path", () => {
  const { message, exitCode } = parseError(["--store-name=acme", "--state=data/acme.json"]);
  expect([message, exitCode]).toEqual([
    "--store-name names a store in a database, and --state data/acme.json is a file: there the path is the name",
    1,
  ]);
  for (const name of ["a b", "-a", "a/b", "a".repeat(101), "größe"])
    expect(parseError(["--store-name", name], DATABASE).message).toContain("--store-name must be up to 100 letters");
  expect(parseRunOptions([], { ...DATABASE, SVC_STOR_NAME: "acme" }).warnings).toEqual([
    "SVC_STOR_NAME is no option: did you mean SVC_STORE_NAME?",
  ]);
});

test("state files in one folder have different self-evolution folders", () => {
  const folders = ["state.json", "a.json", "b.json"].map(
    (name) => parseRunOptions([`--state=/srv/${name}`]).evolvedDir,
  );
  expect(folders).toEqual(["/srv/evolved", "/srv/evolved-a", "/srv/evolved-b"]);
});

test("with a database, self-evolution files are in the folder of the default state file", () => {
  const state = "postgres://cs:secret@db.example:5432/cs?sslmode=verify-full";
  expect(parseRunOptions([`--state=${state}`])).toMatchObject({ state, evolvedDir: "data/evolved" });
  expect(parseRunOptions([`--state=${state}`, "--store-name=acme"]).evolvedDir).toBe("data/acme/evolved");
  expect(
    parseRunOptions([], { SVC_STATE: "postgresql:///cs?host=/run/postgresql", SVC_EVOLVED_DIR: "/srv/e" }),
  ).toMatchObject({
    state: "postgresql:///cs?host=/run/postgresql",
    evolvedDir: "/srv/e",
  });
});

test("the last value of a repeated option counts", () => {
  expect(parseRunOptions(["--port=1", "--port", "2", "--state=x", "--port=3"]).port).toBe(3);
});

test("SVC_ADMIN_TOKEN and SVC_PROTECT_ALL come from the environment; empty is unset", () => {
  expect(parseRunOptions([], { SVC_ADMIN_TOKEN: "a-token-for-tests", SVC_PROTECT_ALL: "1" })).toMatchObject({
    adminToken: "a-token-for-tests",
    protectAll: true,
    warnings: [],
  });
  expect(parseRunOptions([], { SVC_ADMIN_TOKEN: "", SVC_PROTECT_ALL: "" })).toMatchObject({
    adminToken: undefined,
    protectAll: false,
    protectReads: false,
    readToken: undefined,
  });
});

test("--check-intent uses only its file, --scenarios and the store options", () => {
  const checked = { kind: "check_intent", path: "intent.json", options: {} };
  expect(parseOptions(["--check-intent", "intent.json"], { SVC_PORT: "x", SVC_STATE: "s.json" })).toEqual(checked);
  expect(parseOptions(["--port=0", "--check-intent=intent.json"], {})).toEqual(checked);
  expect(() => parseOptions(["--check-intent"], {})).toThrow("--check-intent needs a value");
  const withStore = ["--scenarios=s.yaml", "--state=env:STORE", "--store-name=crm"];
  expect(parseOptions([...withStore, "--check-intent=intent.json"], {})).toEqual({
    ...checked,
    options: { scenarios: "s.yaml", state: "env:STORE", storeName: "crm" },
  });
  expect(() => parseOptions(["--scenarios=s.yaml"], {})).toThrow("--scenarios goes with --check-intent");
});

test("--help prints every option and --version the version, for any environment", () => {
  expect(parseOptions(["--help"], { SVC_PORT: "x" })).toEqual({ kind: "print", text: helpText() });
  expect(parseOptions(["--version"], { SVC_PORT: "x" })).toEqual({ kind: "print", text: packageJson.version });
  expect(helpText()).toContain("default 8420");
});

test.each([
  [[`--audit-witness-key=${W1}`], "--audit-witness and --audit-witness-key go together: as many keys as URLs"],
  [["--audit-witness=https://w1.example"], "--audit-witness and --audit-witness-key go together: as many keys as URLs"],
  [
    ["--audit-witness=https://a.example,https://b.example", `--audit-witness-key=${W1},${W1}`, "--audit-key=k"],
    "--audit-witness-key names a witness twice",
  ],
  [
    ["--audit-witness=https://w1.example", `--audit-witness-key=${W1}`],
    "--audit-witness needs --audit-key: a witness cosigns what the log has signed",
  ],
  [["--witness-for=logs.txt"], "--witness-for, --witness-key and --witness-name go together"],
  [["--witness-key=w.pem", "--witness-name=w"], "--witness-for, --witness-key and --witness-name go together"],
])("%j: incomplete or contradictory options of witnesses are rejected", (argv, message) => {
  expect(parseError(argv)).toMatchObject({ exitCode: 1, message });
});

test.each([
  [
    // A verifier key is name+id+key; this one has another id.
    [`--audit-witness-key=${W1.replace("+", "+0")}`],
    /--audit-witness-key must be verifier keys of Ed25519 cosignatures/,
  ],
  [["--witness-name=w 1"], /--witness-name must be a name without spaces/],
  [["--audit-witness=https://w.example?x"], /--audit-witness must be an address without \? and #/],
])("%j is rejected", (argv, message) => {
  expect(parseError(argv)).toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
});

test.each([
  [["--colour=red"], {}, "unknown option --colour; see --help"],
  [["--no-port"], {}, "unknown option --no-port; see --help"],
  [["--prt", "1"], {}, "unknown option --prt: did you mean --port?; see --help"],
  [["-p", "1"], {}, "unknown option -p; see --help"],
  [["--__proto__=1"], {}, "unknown option --__proto__; see --help"],
  [["9000"], {}, 'unexpected argument "9000"; see --help (with npm, options follow --: npm start -- --port 8461)'],
  [
    ["--", "--port=1"],
    {},
    'unexpected argument "--port=1"; see --help (with npm, options follow --: npm start -- --port 8461)',
  ],
  [["--help=yes"], {}, "--help takes no value"],
  [["--port=abc"], {}, '--port must be a whole number from 0 to 65535, not "abc"'],
  [["--port=65536"], {}, '--port must be a whole number from 0 to 65535, not "65536"'],
  [["--port", "-1"], {}, '--port must be a whole number from 0 to 65535, not "-1"'],
  [["--port=1e3"], {}, '--port must be a whole number from 0 to 65535, not "1e3"'],
  [[], { SVC_PORT: "tcp://10.0.0.1:80" }, 'SVC_PORT must be a whole number from 0 to 65535, not "tcp://10.0.0.1:80"'],
  [["--host=127.0.0.1:80"], {}, '--host must be an IP address or a host name, without a port, not "127.0.0.1:80"'],
  [["--host=999.1.1.1"], {}, '--host must be an IP address or a host name, without a port, not "999.1.1.1"'],
  [["--allowed-hosts=a,,b"], {}, '--allowed-hosts must be host names separated by commas, without ports, not "a,,b"'],
  [["--allowed-hosts=*"], {}, '--allowed-hosts must be host names separated by commas, without ports, not "*"'],
  [["--identity-header=a b"], {}, '--identity-header must be the name of an HTTP header, not "a b"'],
  [
    ["--cross-link-peers=a"],
    {},
    '--cross-link-peers must be host:port pairs separated by commas, an IPv6 address in brackets, not "a"',
  ],
  [
    ["--cross-link-peers=::1:9"],
    {},
    '--cross-link-peers must be host:port pairs separated by commas, an IPv6 address in brackets, not "::1:9"',
  ],
  [
    ["--cross-link-peers=a:0"],
    {},
    '--cross-link-peers must be host:port pairs separated by commas, an IPv6 address in brackets, not "a:0"',
  ],
  [["--cycle-interval=-1"], {}, '--cycle-interval must be a number of seconds from 0 to 86400, not "-1"'],
  [["--cycle-interval=86401"], {}, '--cycle-interval must be a number of seconds from 0 to 86400, not "86401"'],
  [["--agent-id=a\nb"], {}, '--agent-id must be one line of text, not "a\\nb"'],
  [[], { SVC_PROTECT_ALL: "yes" }, 'SVC_PROTECT_ALL must be 1 or 0, not "yes"'],
])("malformed: %j %j", (argv, env, message) => {
  expect(parseError(argv, env)).toMatchObject({ exitCode: 2, message });
});

test.each([
  ["--cross-link-secret=hunter2hunter2,,x"],
  ["--llm-key-env=sk-hunter2"],
  ["--llm-base-url=https://me:hunter2@llm.example/v1"],
  ["--llm-base-url=https://llm.example/v1?key=hunter2"],
  ["--llm-base-url=llm.example/hunter2"],
  ["--product-adapter=http://crm.example/hunter2"],
  ["--product-adapter=https://crm:hunter2@crm.example/"],
  ["--state=mysql://cs:hunter2@db.example/cs"],
  ["--state=postgre://cs:hunter2@db.example/cs"],
  ["--state=postgres:cs:hunter2@db.example/cs"],
  ["--state=postgres://cs:hunter2@db example:x/cs"],
  ["--state=postgres://cs:7/hunter2@db.example/cs"],
  ["--state=postgres://cs:7?hunter2@db.example/cs"],
  ["--state=postgres://cs:7#hunter2@db.example/cs"],
])("a secret is never in an error: %s", (argument) => {
  const { exitCode, message } = parseError([argument]);
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^--[a-z-]+ must /);
  expect(message).not.toContain("hunter2");
});

describe("values that other options contradict, exit code 1", () => {
  test.each(["0.0.0.0", "::", "10.1.2.3", "gov.example", "::ffff:10.0.0.1", "128.0.0.1"])(
    "--host %s without a token",
    (host) => {
      const message = `--host ${host} is not a loopback address: set SVC_ADMIN_TOKEN, or listen on 127.0.0.1`;
      expect(parseError([`--host=${host}`])).toMatchObject({ exitCode: 1, message });
      expect(parseError([`--host=${host}`], { SVC_ADMIN_TOKEN: "" })).toMatchObject({ exitCode: 1, message });
      const short = "SVC_ADMIN_TOKEN has under 16 characters";
      expect(parseError([`--host=${host}`], { SVC_ADMIN_TOKEN: "a-short-token-1" })).toMatchObject({
        exitCode: 1,
        message: `${short}; that is accepted only where the service listens on a loopback address`,
      });
      expect(parseRunOptions([`--host=${host}`], { SVC_ADMIN_TOKEN: "a-longer-token-1" }).host).toBe(host);
      expect(parseRunOptions([], { SVC_ADMIN_TOKEN: "a-short-token-1" }).warnings).toEqual([
        `${short}; use a longer one before others can reach the service`,
      ]);
    },
  );
  test.each(["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"])(
    "but --host %s needs none",
    (host) => {
      expect(parseRunOptions([`--host=${host}`]).host).toBe(host.replace(/[[\]]/g, ""));
    },
  );
  test.each([
    ["--cross-link-port=0", "--cross-link-port"],
    ["--cross-link-peers=127.0.0.1:9", "--cross-link-peers"],
  ])("%s without a secret", (argument, option) => {
    const message = `${option} needs a secret: set SVC_CROSS_LINK_SECRET, or give --cross-link-secret`;
    expect(parseError([argument])).toMatchObject({ exitCode: 1, message });
  });
  test.each([
    ["the link's own host", ["--cross-link-port=9", "--cross-link-host=10.0.0.1"]],
    ["the host, which the link takes over", ["--cross-link-port=9", "--host=0.0.0.0"]],
    ["a peer", ["--cross-link-peers=127.0.0.1:9,10.0.0.1:9"]],
  ])("a short secret where %s is not loopback", (_, argv) => {
    const env = { SVC_ADMIN_TOKEN: "a-token-for-tests", SVC_CROSS_LINK_SECRET: "0123456789abcdef,short" };
    expect(parseError(argv, env)).toMatchObject({
      exitCode: 1,
      message:
        "--cross-link-secret holds a secret under 16 characters; that is accepted only where the link stays on loopback addresses",
    });
    expect(parseRunOptions(argv, { ...env, ...SECRET }).warnings).toEqual([]);
  });
  test.each([
    [
      ["--product-adapter=https://crm.example/"],
      {},
      "--product-adapter needs SVC_ADAPTER_SECRET, which signs what is sent",
    ],
    [
      ["--product-adapter=https://crm.example/", "--product-config=c.json"],
      SECRET,
      "--product-config and --product-adapter exclude each other: a product has one adapter",
    ],
    [[], { SVC_ADAPTER_SECRET: "hunter2" }, "SVC_ADAPTER_SECRET must have 16 characters or more"],
    [[], { SVC_ADAPTER_SECRET: "whsec_!" }, "SVC_ADAPTER_SECRET must be base64 after whsec_"],
    [["--notify-url=https://hooks.example/"], {}, "--notify-url needs SVC_NOTIFY_SECRET, which signs what is sent"],
    [
      ["--notify-url=https://hooks.slack.com/services/T0/B0/x"],
      {},
      "--notify-url needs SVC_NOTIFY_SECRET, which signs what is sent, or --notify-format slack where the address is of Slack",
    ],
    [[], { SVC_NOTIFY_SECRET: "hunter2" }, "SVC_NOTIFY_SECRET must have 16 characters or more"],
  ])("%j %j", (argv, env, message) => {
    expect(parseError(argv, env)).toMatchObject({ exitCode: 1, message });
  });
  test.each(["hunter2\n", " hunter2", "h\u00fcnter2", " "])("an admin token that no header can carry: %j", (token) => {
    const reported = parseError([], { SVC_ADMIN_TOKEN: token });
    expect(reported).toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/^SVC_ADMIN_TOKEN must (be visible ASCII|be one line|not have white space)/),
    });
    // The message does not quote the token.
    expect(reported.message).not.toContain("nter2");
  });
});

test("a variable with a misspelled name causes a warning; other variables are ignored", () => {
  expect(parseRunOptions([], { SVC_PROTECT_READ: "1", SVC_ADMIN_TOKENS_FILE: "/x" }).warnings).toEqual([
    "SVC_PROTECT_READ is no option: did you mean SVC_PROTECT_READS?",
    "SVC_ADMIN_TOKENS_FILE is no option: did you mean SVC_ADMIN_TOKEN_FILE?",
  ]);
  // The first two are of the command line, SVC_ACCOUNT resembles no option, and --llm-key-env names SVC_PORTS.
  const others = { SVC_URL: "http://x", SVC_AGENT_TOKEN: "x", SVC_ACCOUNT: "x", PROTECT_READ: "1", SVC_PORTS: "x" };
  expect(parseRunOptions(["--llm-key-env=SVC_PORTS"], others).warnings).toEqual([]);
});

test("read protection comes from the environment; beyond loopback chat is protected by default", () => {
  const READ_TOKEN = { SVC_READ_TOKEN: "a-token-to-read-with" };
  expect(parseRunOptions([], { ...READ_TOKEN, SVC_PROTECT_READS: "true" })).toMatchObject({
    protectReads: true,
    readToken: "a-token-to-read-with",
    warnings: [],
  });
  expect(parseRunOptions([], READ_TOKEN).warnings).toEqual([
    "SVC_READ_TOKEN opens nothing while SVC_PROTECT_READS is unset",
  ]);
  const ADMIN_TOKEN = { SVC_ADMIN_TOKEN: "a-token-for-tests" };
  expect(parseRunOptions(["--host=0.0.0.0"], ADMIN_TOKEN)).toMatchObject({ protectAll: true, protectReads: false });
  expect(parseRunOptions(["--host=0.0.0.0"], { ...ADMIN_TOKEN, SVC_PROTECT_ALL: "0" }).protectAll).toBe(false);
  expect(parseRunOptions(["--identity-header=x-person"], { SVC_PROTECT_READS: "1" }).protectReads).toBe(true);
  for (const [argv, env, reported] of [
    [
      [],
      { SVC_PROTECT_READS: "1" },
      /^SVC_PROTECT_READS needs SVC_READ_TOKEN, SVC_ADMIN_TOKEN, --identity-header or --identity-jwt/,
    ],
    [[], { ...ADMIN_TOKEN, SVC_READ_TOKEN: "a-token-for-tests" }, /^SVC_READ_TOKEN must not be SVC_ADMIN_TOKEN/],
    [["--host=0.0.0.0"], { ...ADMIN_TOKEN, SVC_READ_TOKEN: "short" }, /^SVC_READ_TOKEN has under 16 characters/],
    [[], { SVC_READ_TOKEN: "two\nlines" }, /^SVC_READ_TOKEN must be one line/],
    [[], { SVC_PROTECT_READS: "yes" }, /^SVC_PROTECT_READS must be 1 or 0/],
  ] as const)
    expect(() => parseRunOptions([...argv], env)).toThrow(reported);
});

test("a secret notification URL is never in an error; an unsuitable one causes a warning", () => {
  const url = "https://hooks.slack.com/services/T0/B0/hidden";
  const reported = (env: Environment, ...argv: string[]) =>
    parseRunOptions(argv, { SVC_NOTIFY_URL: url, ...env }).warnings;
  expect(reported({ SVC_NOTIFY_FORMAT: "slack" })).toEqual([]);
  expect(reported({}, "--notify-format=slack", `--notify-url=${url}`)).toEqual([
    "--notify-url shows in the process list, and is a secret; use SVC_NOTIFY_URL or SVC_NOTIFY_URL_FILE",
  ]);
  expect(reported(SECRET)).toEqual([
    "--notify-url is an address of Slack, which does not read --notify-format json; give --notify-format slack",
  ]);
  const teams = "https://prod-01.westeurope.logic.azure.com:443/workflows/hidden";
  expect(reported({ SVC_NOTIFY_URL: teams, SVC_NOTIFY_FORMAT: "slack" })).toEqual([
    "--notify-url is an address of Teams, which does not read --notify-format slack; give --notify-format teams",
  ]);
  expect(reported({ SVC_NOTIFY_URL: "http://chat.acme.example/hidden", SVC_NOTIFY_FORMAT: "teams" })).toEqual([
    "--notify-url is a secret, and http shows it on the way; use https",
  ]);
  expect(parseRunOptions(["--notify-format=teams"]).warnings).toEqual([
    "--notify-format has no effect without --notify-url",
  ]);
  const path = writeTemporary(`${url}\n`);
  expect(parseRunOptions([], { SVC_NOTIFY_URL_FILE: path, SVC_NOTIFY_FORMAT: "slack" }).notifyUrl).toBe(url);
  for (const [argv, env] of [
    [["--notify-url=hidden"], {}],
    [[], { SVC_NOTIFY_URL: "ftp://hidden" }],
    // Errors of fetch repeat such an address, in the log and in the capabilities.
    [["--audit-otlp=https://hidden@otel.example"], {}],
    [["--audit-otlp=https://x:hidden@otel.example"], {}],
    [["--audit-otlp=https://:hidden@otel.example"], {}],
  ] as const) {
    const { message } = parseError([...argv], env);
    expect(message).toMatch(/(--notify-url|SVC_NOTIFY_URL|--audit-otlp) must be an http or https URL/);
    expect(message).not.toContain("hidden");
  }
});

test("each secret may be in a file, whose last line end is not part of it", () => {
  const path = writeTemporary("a-secret-for-tests-1\r\n");
  for (const [name, key] of [
    ["SVC_ADMIN_TOKEN", "adminToken"],
    ["SVC_READ_TOKEN", "readToken"],
    ["SVC_ADAPTER_SECRET", "adapterSecret"],
    ["SVC_NOTIFY_SECRET", "notifySecret"],
  ] as const) {
    expect(parseRunOptions([], { [`${name}_FILE`]: path })[key]).toBe("a-secret-for-tests-1");
    const both = parseError([], { [`${name}_FILE`]: path, [name]: "another-secret-of-it" });
    expect(both).toMatchObject({ exitCode: 1, message: `${name} and ${name}_FILE exclude each other` });
    expect(parseError([], { [`${name}_FILE`]: join(folder, "none") }).message).toMatch(
      new RegExp(`^${name}_FILE .*none cannot be read \\(ENOENT\\)$`),
    );
  }
  const empty = writeTemporary("\n");
  for (const name of ["SVC_ADMIN_TOKEN", "SVC_NOTIFY_URL"])
    expect(parseError([], { [`${name}_FILE`]: empty }).message).toBe(`${name}_FILE ${empty} is empty`);
  for (const quoted of ['"a-secret-for-tests-1"', "'a-secret-for-tests-1'"]) {
    const message = expect.stringMatching(/ must not be in quotation marks; remove them$/);
    expect(parseError([], { SVC_ADMIN_TOKEN_FILE: writeTemporary(`${quoted}\n`) })).toMatchObject({
      exitCode: 1,
      message,
    });
    expect(parseError([], { SVC_ADMIN_TOKEN: quoted })).toMatchObject({ exitCode: 1, message });
    const link = `--cross-link-secret-file=${writeTemporary(`0123456789abcdef\n${quoted}\n`)}`;
    expect(parseError([link])).toMatchObject({ exitCode: 1, message });
  }
  expect(parseRunOptions(["--llm-key-env=MY_KEY"], { MY_KEY_FILE: path }).llmKey).toBe("a-secret-for-tests-1");
  const several = writeTemporary("0123456789abcdef\nfedcba9876543210\n");
  for (const options of [
    parseRunOptions([`--cross-link-secret-file=${several}`]),
    parseRunOptions([], { SVC_CROSS_LINK_SECRET_FILE: several }),
  ])
    expect(options.crossLinkSecrets).toEqual(["0123456789abcdef", "fedcba9876543210"]);
  const both = parseError([`--cross-link-secret-file=${several}`, "--cross-link-secret=0123456789abcdef"]);
  expect(both.message).toBe("--cross-link-secret and --cross-link-secret-file exclude each other");
  const malformed = writeTemporary("hunter2hunter2,,x");
  expect(parseError([`--cross-link-secret-file=${malformed}`]).message).not.toContain("hunter2");
});

test("a secret in the arguments causes a warning, a database's address does not", () => {
  expect(parseRunOptions(["--cross-link-secret=0123456789abcdef"]).warnings).toEqual([
    "--cross-link-secret shows in the process list; use --cross-link-secret-file, or SVC_CROSS_LINK_SECRET",
  ]);
  expect(
    parseRunOptions(["--state=postgres://me:hidden@db/x"], { SVC_CROSS_LINK_SECRET: "0123456789abcdef" }).warnings,
  ).toEqual([]);
});

test("ineffective and risky options cause warnings, not errors", () => {
  expect(parseRunOptions(["--cross-link-port=9", "--cross-link-secret=short"]).warnings).toEqual([
    "--cross-link-secret shows in the process list; use --cross-link-secret-file, or SVC_CROSS_LINK_SECRET",
    "--cross-link-secret holds a secret under 16 characters; use a longer one before the link leaves this machine",
  ]);
  expect(parseRunOptions([], { SVC_PROTECT_ALL: "1" }).warnings).toEqual([
    "SVC_PROTECT_ALL has no effect while SVC_ADMIN_TOKEN is unset",
  ]);
  expect(parseRunOptions(["--product-config=x"]).warnings).toEqual([
    "--product-config has no effect without --product-intent",
  ]);
  expect(parseRunOptions(["--product-adapter=https://crm.example/"], SECRET).warnings).toEqual([
    "--product-adapter has no effect without --product-intent",
  ]);
  expect(parseRunOptions(["--product-config=x", "--product-intent=i", "--state=postgres://cs@db/cs"]).warnings).toEqual(
    [expect.stringMatching(/^--product-config writes a file of this machine/)],
  );
});

test("the language model's key is read from the variable that --llm-key-env names", () => {
  expect(parseRunOptions(["--llm-key-env=MY_KEY"], { MY_KEY: "k" }).llmKey).toBe("k");
  expect(parseRunOptions(["--llm-key-env=MY_KEY"], { MY_KEY: "" }).llmKey).toBeUndefined();
  expect(parseRunOptions(["--llm-key-env=MY_KEY"]).llmKey).toBeUndefined();
});

test.each([
  [["--llm-base-url=https://llm.example"]],
  [["--llm-base-url=https://llm.example", "--llm=http://127.0.0.1:1/v1"]],
])("--llm-base-url without the name of a provider is rejected: %j", (argv) => {
  expect(parseError(argv)).toMatchObject({
    exitCode: 1,
    message: "--llm-base-url goes with --llm openai or --llm anthropic",
  });
});

describe("capabilities", () => {
  const find = (id: string, argv: string[], env: Environment = {}, uiProblem: string | null = null) =>
    listCapabilities(parseRunOptions(argv, env), uiProblem).find((capability) => capability.id === id);

  test("a capability that is not available says why, and which option enables it", () => {
    for (const { status, reason, enable_with } of listCapabilities(parseRunOptions([]), null)) {
      if (status === "available") expect({ reason, enable_with }).toEqual({ reason: null, enable_with: null });
      else expect([status, !!reason, !!enable_with]).toEqual(["disabled", true, true]);
    }
  });
  test.each<[string[], Environment, string]>([
    [[], {}, "not configured"],
    [["--llm=nobody"], {}, "no known provider"],
    [["--llm=openai"], {}, "--llm-model is missing"],
    [["--llm=openai", "--llm-model=m", "--llm-key-env=NO_KEY"], {}, "NO_KEY is unset or empty"],
    [["--llm=openai", "--llm-model=m", "--llm-key-env=NO_KEY"], { NO_KEY: "" }, "NO_KEY is unset or empty"],
  ])("language model: %j", (argv, env, reason) => {
    expect(find("llm", argv, env)).toMatchObject({ status: "disabled", reason: expect.stringContaining(reason) });
  });
  test("a configured language model and a configured audit key are available", () => {
    const argv = ["--llm=http://127.0.0.1:1/v1", "--llm-model=m", "--audit-key=k.pem"];
    for (const id of ["llm", "audit_key"]) expect(find(id, argv)).toMatchObject({ status: "available" });
  });
  test("a configured link is not listed here, since it reports its own capability", () => {
    expect(find("cross_link", [])).toMatchObject({ status: "disabled" });
    expect(find("cross_link", ["--cross-link-port=9100"], SECRET)).toBeUndefined();
  });
  test("the store and the adapter that the options select are available, others are disabled", () => {
    const intent = "--product-intent=i.json";
    expect(find("shared_store", [])).toMatchObject({ status: "disabled" });
    expect(find("shared_store", ["--state=postgres://cs@db/cs"])).toMatchObject({ status: "available" });
    expect(find("store_name", [])).toMatchObject({
      status: "disabled",
      reason: "the state is a file: its path is its name",
    });
    expect(find("store_name", [], DATABASE)).toMatchObject({ status: "disabled" });
    expect(find("store_name", ["--store-name=acme"], DATABASE)).toMatchObject({ status: "available" });
    for (const [id, other, argument, otherArgument] of [
      ["file_adapter", "webhook_adapter", "--product-config=c.json", "--product-config"],
      ["webhook_adapter", "file_adapter", "--product-adapter=https://crm.example/", "--product-adapter"],
    ] as const) {
      expect(find(id, [intent, argument], SECRET)).toMatchObject({ status: "available" });
      expect(find(id, [argument], SECRET)).toMatchObject({ reason: "no product intent is given" });
      expect(find(id, [intent])).toMatchObject({ status: "disabled", reason: "not configured" });
      expect(find(other, [intent, argument], SECRET)).toMatchObject({ reason: `${otherArgument} is given instead` });
    }
  });
  test("the user interface, the timer and the proxy depend on their options", () => {
    expect(find("ui", [], {}, "no such folder")).toMatchObject({ status: "disabled", reason: "no such folder" });
    expect(find("ui", [])).toMatchObject({ status: "available" });
    expect(find("cycle_timer", ["--cycle-interval=0"])).toMatchObject({ status: "disabled" });
    expect(find("proxy_identity", ["--identity-header=X-Person"])).toMatchObject({ status: "available" });
  });
});
