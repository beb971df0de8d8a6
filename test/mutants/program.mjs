/** The local program: its start, its stop, its server and its options. */

const START = ["test/local/start.long.test.ts"];
const SERVER = ["test/local/node_http.test.ts"];
const ANCHOR = ["test/local/anchor.test.ts"];
const start = { file: "local/start.ts", tests: START };
const anchor = { file: "local/anchor.ts", tests: ANCHOR };
const server = { file: "local/node_http.ts", tests: SERVER };

export const program = [
  {
    name: "an arrow function of a bundle loses the this around it",
    file: ".ci/build/functions.mjs",
    find: "&& !uses && ",
    replace: "&& ",
    tests: ["test/with_functions.test.ts"],
  },
  {
    name: "on Lambda a cycle whose steps fail counts as a success",
    file: "lib/hosts/lambda/scheduled_run.ts",
    find: "if (lacking.length > 0) throw",
    replace: "if (lacking.length > 9) throw",
    tests: ["test/lib/hosts/lambda_cycle.test.ts"],
  },
  {
    ...start,
    name: "the anchor is not asked at the start",
    file: "lib/changes/open.ts",
    find: "if (isKnown) await verifyAgainstAnchor(deps);",
    replace: "void [isKnown, verifyAgainstAnchor];",
  },
  {
    ...start,
    name: "the whole log is not checked after the start",
    find: 'if (deps.product) verifyChain(deps).catch((error: unknown) => log.warn("the chain was not checked", { error }));',
    replace: "void verifyChain;",
    only: "the whole log",
  },
  {
    ...start,
    name: "the listening program answers to any Host",
    find: "const fetch = hostGuard(deps)(withUi(ui.files, service.fetch));",
    replace: "void hostGuard; const fetch = withUi(ui.files, service.fetch);",
    only: "listed hosts",
  },
  {
    ...start,
    name: "the admin token of the environment is not used",
    find: "    adminToken: options.adminToken,\n",
    replace: "",
    only: "the admin token",
  },
  {
    ...start,
    name: "a start that failed keeps the state file",
    find: "  undo.push(() => close());\n",
    replace: "",
    only: "lets go|stopping",
  },
  {
    ...anchor,
    name: "an anchor's line that was cut short swallows the next",
    find: 'end === "" || end === "\\n" ? line : `\\n${line}`',
    replace: "line",
  },
  {
    ...anchor,
    name: "an anchor at a URL counts as kept whatever it answered",
    find: "if (!response.ok) throw",
    replace: "if (false) throw",
  },
  {
    ...anchor,
    name: "an anchor's password is told in an error",
    find: 'if (username !== "" || password !== "")',
    replace: "if (false)",
  },
  {
    name: "a signing key that others can read is loaded without a word",
    file: "local/audit_key.ts",
    find: "(statSync(path).mode & 0o077) !== 0",
    replace: "false",
    tests: ["test/local/audit_key.test.ts"],
  },
  {
    ...server,
    name: "a request without a Host is taken",
    find: 'if (headers.host === undefined && httpVersion === "1.1") return "host_missing";',
    replace: "void httpVersion;",
  },
  {
    ...server,
    name: "a target may name another host than Host",
    find: "target.host === headers.host?.toLowerCase();",
    replace: "true;",
  },
  {
    ...server,
    name: "a stop cuts off what is in flight",
    find: "  await requests.idle(timeout);\n",
    replace: "",
  },
  {
    name: "a refusal is mixed into an answer that has begun",
    file: "local/http_refusal.ts",
    find: "|| mixed) return void connection.destroy();",
    replace: ") return void connection.destroy(); void mixed;",
    tests: SERVER,
  },
  {
    name: "a service open to the network starts without a token",
    file: "local/options.ts",
    find: "if (!options.adminToken && !isLoopback(options.host)) {",
    replace: "if (false) {",
    tests: ["test/local/options.test.ts"],
  },
  {
    name: "a short secret may leave this machine",
    file: "local/options.ts",
    find: "if (!ends.every(isLoopback))",
    replace: "if (false)",
    tests: ["test/local/options.test.ts"],
  },
  {
    name: "two cycles run at once",
    file: "local/cycle_timer.ts",
    find: "if (on) running ??= cycle();",
    replace: "if (on) running = cycle();",
    tests: ["test/local/cycle_timer.test.ts"],
  },
  {
    name: "the console below a path on Lambda loads nothing",
    file: "lib/hosts/lambda/event.ts",
    find: 'const lacksSlash = pathname === "/" && !asked.endsWith("/");',
    replace: "const lacksSlash = asked === undefined;",
    tests: ["test/lib/hosts/lambda_handler.test.ts"],
  },
  {
    name: "the console below a path on Lambda leads to itself without end",
    file: "lib/hosts/lambda/event.ts",
    find: 'const lacksSlash = pathname === "/" && !asked.endsWith("/");',
    replace: 'const lacksSlash = pathname === "/" && asked !== "/";',
    tests: ["test/lib/hosts/lambda_handler.test.ts"],
  },
];
