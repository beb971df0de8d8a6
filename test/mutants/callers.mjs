/** The client and the command line: nothing is done twice, signed unseen, or taken for done. */

const CLIENT = ["test/lib/client/client.test.ts"];
const SIGNING = ["test/local/command_line/signing.long.test.ts"];
const retry = { file: "lib/client/retry.ts", tests: CLIENT };
const client = { file: "lib/client/client.ts", tests: CLIENT };
const signing = { file: "local/command_line/signing.ts", tests: SIGNING };
const decisions = { file: "local/command_line/verbs/decisions.ts", tests: SIGNING };

export const callers = [
  {
    ...retry,
    name: "the client sends a write again that no key protects",
    find: 'method === "GET" || headers.has("idempotency-key")',
    replace: "method !== headers.get(method)",
  },
  {
    ...retry,
    name: "the client asks a host product again that has failed",
    find: 'return typeof code !== "string";',
    replace: "return true;",
  },
  {
    ...retry,
    name: "the client sits out any pause it is told",
    find: "if (answered && ms > retry.capMs) return answered;",
    replace: "",
  },
  {
    ...retry,
    name: "the client does not keep to Retry-After",
    find: "(answered && parseRetryAfter(answered)) ?? ",
    replace: "",
  },
  {
    ...client,
    name: "the client sends a write without an idempotency key",
    find: 'method === "post" && KEYED.includes(path) ? ',
    replace: 'method === "post" && path === "" ? ',
  },
  {
    ...client,
    name: "the client uses one idempotency key for all its calls",
    find: '"Idempotency-Key": idempotencyKey() }',
    replace: '"Idempotency-Key": "1" }',
  },
  {
    ...client,
    name: "the client takes a refusal for an answer",
    find: "    throw toError(response, error);\n",
    replace: "    return response;\n",
  },
  {
    ...client,
    name: "the client does not ask again for an answer that broke off",
    find: "await response.clone().arrayBuffer();",
    replace: "",
  },
  {
    file: "lib/client/wait.ts",
    name: "a job that waits fails when the service starts anew",
    find: 'if (etag === "" || !isTransient(error)) throw error;',
    replace: "throw error;",
    tests: CLIENT,
  },
  {
    ...signing,
    name: "the command line signs what the service hands it",
    find: "if (own === statement) return statement;",
    replace: "if (own !== undefined) return statement;",
  },
  {
    ...signing,
    name: "the command line signs a digest that is not that of the content shown",
    find: "if (sha256(canonicalContent(change as unknown as Content)) !== digest)",
    replace: "if (sha256(canonicalContent(change as unknown as Content)) === '')",
  },
  {
    ...signing,
    name: "the command line signs although the person says no",
    find: 'if (!isSure && !(await session.confirm("Sign it?")))',
    replace: 'if (!isSure && (await session.confirm("Sign it?")) === undefined)',
  },
  {
    ...decisions,
    file: "local/command_line/signing.ts",
    name: "the command line signs another change than it was asked to",
    find: "if (change.change_id !== change_id)",
    replace: "if (change_id === undefined)",
  },
  {
    ...decisions,
    file: "local/command_line/signing.ts",
    name: "the command line does not hold a signed decision to the revision that was shown",
    find: 'params: { header: { "If-Match": `"${change.revision}"` } }',
    replace: "params: {}",
  },
  {
    file: "local/command_line/verbs/wait.ts",
    name: "a job goes on after a denial",
    find: 'exit: stands ? "done" : "denied"',
    replace: 'exit: stands ? "done" : "done"',
    tests: ["test/local/command_line/verbs.test.ts"],
  },
  {
    file: "local/command_line/text.ts",
    name: "the command line writes control characters of others to the terminal",
    find: 'new RegExp(INVISIBLE.source, "gu")',
    replace: "/[]/gu",
    tests: ["test/local/command_line/text.test.ts"],
  },
  {
    file: "local/command_line/exit.ts",
    name: "a refusal ends the program as if it was done",
    find: 'return isFailing || code === "unreachable"',
    replace: 'if (status === 403 || status === 400) return "done"; return isFailing || code === "unreachable"',
    tests: ["test/local/command_line/verbs.test.ts", "test/local/command_line/signing.long.test.ts"],
  },
];
