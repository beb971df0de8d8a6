/** Deployments on GitHub, and the groups of the identity provider. */

const ANSWERS = "test/lib/operations/github/answers.test.ts";
const answers = { file: "lib/operations/github/answers.ts", tests: [ANSWERS] };
const delivery = { file: "lib/github/delivery.ts", tests: [ANSWERS] };
const groups = { file: "lib/changes/rules/idp_groups.ts", tests: ["test/lib/changes/idp_groups.test.ts"] };

export const github = [
  {
    ...delivery,
    name: "any signature of a delivery will do",
    find: 'return crypto.subtle.verify("HMAC", key, hexToBytes(signature), bytes);',
    replace: 'return key.type === "secret" && bytes.length > 0;',
  },
  {
    ...delivery,
    name: "a callback leads beside the run",
    find: "if (callback !== api + decisionPath(request))",
    replace: "if (!callback.startsWith(api))",
  },
  {
    ...answers,
    name: "an environment is taken for another one that is equal without case",
    find: "    if (error) {\n      const reason",
    replace: "    if (error && head === '') {\n      const reason",
  },
  {
    file: "local/command_line/verbs/gate.ts",
    name: "any success at the service's address is a decision",
    find: 'if (isState && allowed === (state === "allowed") && Array.isArray(reasons)) return answer;',
    replace: "if (isState || Array.isArray(reasons)) return answer;",
    tests: ["test/local/command_line/gate.test.ts"],
  },
  {
    file: "lib/github/app.ts",
    name: "a redirect of GitHub is followed",
    find: 'redirect: "manual"',
    replace: 'redirect: "follow"',
    tests: [ANSWERS],
  },
  {
    ...answers,
    name: "a deployment is forgotten before GitHub takes its answer",
    find: "    await post({ state: answer });\n    await closeDeployment(store, id, answer, clock.now());",
    replace: "    await closeDeployment(store, id, answer, clock.now());\n    await post({ state: answer });",
  },
  {
    file: "lib/operations/github/sweep.ts",
    name: "a lost delivery stays lost",
    find: "if (now - newest.delivered_at < UNDER_WAY_MS) continue;",
    replace: "continue;",
    tests: [ANSWERS],
  },
  {
    file: "lib/changes/rules/permissions.ts",
    name: "a group of a token grants a permission",
    find: "const isNamed = actor !== null && permitted.includes(normalizeName(actor));",
    replace:
      "const isNamed = actor !== null && (permitted.includes(normalizeName(actor)) || claimed.idp !== undefined);",
    tests: groups.tests,
  },
  {
    ...groups,
    name: "a signature stands in for the token",
    find: "  if (hasGroups(name, idp, intent)) return;",
    replace: '  if (hasGroups(name, idp, intent) || code === "not_an_approver") return;',
  },
  {
    file: "lib/changes/rules/policy.ts",
    name: "a consent without the group counts",
    find: " &&\n      hasGroups(approver, idp, intent),",
    replace: ",",
    tests: groups.tests,
  },
];
