/** Who may what: principals of the intent, agents, people, readers, and those who guess. */

const AGENTS = ["test/lib/changes/agents.test.ts"];
const intent = {
  file: "lib/changes/rules/principals.ts",
  tests: ["test/lib/changes/rules/principals.test.ts"],
};
const shared = { file: "lib/deps.ts", tests: ["test/lib/deps.test.ts"] };
const admission = { file: "lib/http/admission.ts", tests: AGENTS };
const credentials = { file: "lib/http/principals.ts", tests: AGENTS };
const caller = { file: "lib/changes/caller.ts", tests: AGENTS };
const reads = { tests: ["test/lib/http/protected_reads.test.ts"] };
const guesses = { tests: ["test/lib/http/wrong_tokens.test.ts"] };
const whoami = { file: "lib/http/whoami.ts", tests: ["test/handlers/whoami.test.ts"] };
const levels = { file: "lib/changes/rules/autonomy_level.ts", tests: ["test/lib/operations/figures.test.ts"] };
const HTTP = ["test/contract/http.test.ts"];

export const principals = [
  {
    ...shared,
    name: "an agent's secret may be the admin token",
    find: "token_sha256 === sha256(token));",
    replace: "token_sha256 === token);",
  },
  {
    file: "lib/http/principals.ts",
    name: "a bearer that is oddly written is none",
    find: "ODD_BEARER.test(header) ? header : undefined",
    replace: "undefined",
    tests: AGENTS,
  },
  {
    ...admission,
    name: "a path that is none tells quickly whether a token is right",
    find: "if (carriesWrongToken(request, deps)) await holdBack(deps, request);\n  throw error;\n}\n\nasync function judge",
    replace: "throw error;\n}\n\nasync function judge",
    tests: ["test/lib/http/wrong_tokens.test.ts"],
  },
  {
    file: "lib/changes/rules/consent_rules.ts",
    name: "an emergency may leave nobody to review it",
    find: "if (reviewers.size > needed) return [];",
    replace: "if (needed >= 0) return [];",
    tests: ["test/lib/changes/rules/intent.test.ts"],
  },
  {
    ...intent,
    name: "two agents may share a secret",
    find: "if (other !== undefined)\n        refuse(\n          [",
    replace: "if (false)\n        refuse(\n          [",
  },
  {
    name: "the same key under another comment is another key",
    file: "lib/changes/rules/keys.ts",
    find: "[toHex(sshMaterial(key.public_key)!.raw)]",
    replace: "[key.public_key]",
    tests: ["test/lib/changes/rules/intent.test.ts"],
    only: "a key that cannot stand",
  },
  {
    ...intent,
    name: "an agent may stand among those who approve",
    find: "if (isAgent(name, { principals })) refuse(",
    replace: "if (false) refuse(",
  },
  {
    ...intent,
    name: "two spellings of a name are two principals",
    find: "if (other !== undefined) refuse(stated,",
    replace: "if (false) refuse(stated,",
  },
  {
    ...intent,
    name: "a person may have an agent's name",
    find: 'if (AGENT.test(name) && kind !== "agent")',
    replace: "if (false)",
  },
  {
    ...intent,
    name: "what an agent's secret is may be written into the intent",
    find: "/^[0-9a-fA-F]{64}$/",
    replace: "/^.+$/",
  },
  {
    ...admission,
    name: "an agent may whatever nobody else has to prove",
    find: "if (write && !terms.agents) throw agentMayNot(name);",
    replace: "",
  },
  {
    file: "lib/changes/rules/reader.ts",
    name: "an agent that reads its own changes sees those of others",
    find: "reader === undefined ||",
    replace: "true ||",
    tests: ["test/handlers/own_reads.test.ts"],
  },
  {
    file: "lib/http/endpoint.ts",
    name: "a shared answer shows every change to an agent that reads its own",
    find: "if (reader || !together",
    replace: "if (!together",
    tests: ["test/handlers/own_reads.test.ts"],
  },
  {
    ...admission,
    name: "with the admin token beside its secret an agent may everything",
    find: "if (write && !terms.agents)",
    replace: 'if (write && !declaration.agents && !request.headers.has("x-svc-admin-token"))',
  },
  {
    ...admission,
    name: "with a person's name beside its secret an agent is that person",
    find: "return { agent: name, readsOwn, person: undefined, ",
    replace: "return { agent: undefined, person: findPerson(deps, request), ",
  },
  {
    ...admission,
    name: "behind a proxy a write may be nobody's",
    find: "if (write && terms.product && !terms.unnamed) requireNamed(person, request, deps);",
    replace: "void requireNamed;",
    tests: HTTP,
    only: "bare handlers access",
  },
  {
    name: "who is known must say their name again",
    file: "lib/http/endpoint.ts",
    find: "if (declaration.names && known && !(declaration.names in fields)) fields[declaration.names] = known;",
    replace: "void known;",
    tests: HTTP,
    only: "bare handlers access",
  },
  {
    name: "a program that feeds KPIs needs a person behind a proxy",
    file: "handlers/product/kpi.ts",
    find: "    unnamed: true,\n",
    replace: "",
    tests: HTTP,
    only: "bare handlers access",
  },
  {
    name: "an agent's key gives its answer to others",
    file: "lib/http/idempotency.ts",
    find: ", ...(agent ? [agent] : [])];",
    replace: "];",
    tests: AGENTS,
  },
  {
    ...credentials,
    name: "a bearer that nobody has is let through as nobody",
    find: "if (agent !== undefined || isReader(request, deps)) return agent;\n  throw unknownCaller();",
    replace: "return agent;",
  },
  {
    ...credentials,
    name: "a bearer that is somebody else's stops who has another credential",
    find: "if (agent !== undefined || isReader(request, deps)) return agent;",
    replace: "if (agent !== undefined) return agent;",
  },
  {
    ...credentials,
    name: "the hash of an agent's secret is as good as the secret",
    find: "const digest = sha256(bearer);",
    replace: "const digest = /^[0-9a-f]{64}$/.test(bearer) ? bearer : sha256(bearer);",
  },
  {
    ...caller,
    name: "an agent may propose under another name",
    find: "const known = agent ?? person;",
    replace: "const known = person;",
  },
  {
    ...caller,
    name: "anybody may use an agent's name without its secret",
    find: "if (isAgent(used, { principals }))",
    replace: "if (false)",
  },
  {
    ...caller,
    name: "the log does not say that an agent came with its secret",
    find: 'if (agent !== undefined) return { actor: agent, authenticated: "agent" };',
    replace: "",
  },
  {
    name: "an agent's consent counts where the intent names no approvers",
    file: "lib/changes/rules/policy.ts",
    find: "  !isAgent(approver, { principals }) &&\n",
    replace: "",
    tests: AGENTS,
  },
  {
    name: "an agent may take back what nobody put their name to",
    file: "lib/changes/rules/state_machine.ts",
    find: 'change.proposer === null ? actor.authenticated !== "agent" :',
    replace: "change.proposer === null ? true :",
    tests: AGENTS,
  },
  {
    name: "what an agent proposes may be minor though the intent does not say so",
    file: "lib/changes/rules/propose.ts",
    find: 'proposer_kind === "agent" && !policy.minor?.agents',
    replace: "false",
    tests: AGENTS,
  },
  {
    name: "who asked a model for its draft may approve it",
    file: "lib/changes/rules/policy.ts",
    find: "[proposer, asked_by].some(",
    replace: "[proposer].some(",
    tests: ["test/lib/changes/today.test.ts"],
  },
  {
    ...levels,
    name: "an agent's proposal counts as a human's",
    find: '["agent", "model", "peer"].includes(kind)',
    replace: '["model", "peer"].includes(kind)',
  },
  {
    ...levels,
    name: "a name that is merely claimed counts as a human's where the intent says who is who",
    find: 'if (principals && (kind === "unknown" || isClaimed(authenticated))) return "unattributed";',
    replace: "void isClaimed;",
  },
  {
    ...levels,
    name: "what nobody answered in time counts as decided by a rule",
    find: 'return approver === POLICY_MINOR ? "L4" : null;',
    replace: 'return "L4";',
  },
  {
    ...reads,
    name: "protected reads need no token",
    file: "lib/http/admission.ts",
    find: 'if (!terms.open && (!write || terms.token === "protect_all")) requireReader(request, deps);',
    replace: "void requireReader;",
  },
  {
    ...reads,
    name: "a read token opens writes",
    file: "lib/http/guards.ts",
    find: 'const token = request.headers.get("x-svc-admin-token");',
    replace:
      'if (request.headers.has("x-svc-read-token")) return true;\n  const token = request.headers.get("x-svc-admin-token");',
  },
  {
    ...reads,
    name: "health is asked for a token where reads are protected",
    file: "handlers/livez.ts",
    find: "    open: true,\n",
    replace: "",
  },
  {
    ...guesses,
    name: "a wrong token is answered at once",
    file: "lib/http/wrong_tokens.ts",
    find: "await (deps.pause ?? timer)(LATE_MS);",
    replace: "void [timer, LATE_MS];",
  },
  {
    ...guesses,
    name: "the log has a line for every guess",
    file: "lib/http/log_at_intervals.ts",
    find: "const isDue = Math.abs(now - at) >= LOG_INTERVAL_MS;",
    replace: "const isDue = true;",
  },
  {
    ...guesses,
    name: "guesses are not counted",
    file: "lib/http/wrong_tokens.ts",
    find: "  deps.wrongToken?.();\n",
    replace: "",
  },
  {
    ...guesses,
    name: "whoami is a quicker way to guess",
    file: "handlers/whoami.ts",
    find: "if (carriesWrongToken(call.request, call.deps)) await holdBack(call.deps, call.request);",
    replace: "void [carriesWrongToken, holdBack];",
  },
  {
    ...whoami,
    name: "whoami promises writes to who has no token",
    find: "(adminToken ? token : allowAnonymousWrites !== false)",
    replace: "(token || !adminToken || true)",
  },
  {
    ...whoami,
    name: "whoami tells that nobody's bearer may read",
    find: "if (error instanceof AppError) return nobody;",
    replace: 'if (error instanceof AppError) return { ...nobody, may: ["read"] };',
  },
  {
    name: "peers are asked for a token that the link has no place for",
    file: "local/start.ts",
    find: "options.protectReads ? forPeers(deps) : service.fetch",
    replace: "options.protectReads ? service.fetch : forPeers(deps)",
    tests: ["test/local/start.long.test.ts"],
    only: "peers still ask",
  },
  {
    name: "strangers may read what a serverless host keeps",
    file: "lib/hosts/settings.ts",
    find: 'flag("SVC_PROTECT_READS", "1")',
    replace: 'flag("SVC_PROTECT_READS", "0")',
    tests: ["test/lib/hosts/lambda_settings.test.ts"],
  },
  {
    name: "beyond loopback strangers may chat",
    file: "local/options.ts",
    find: 'flag("SVC_PROTECT_ALL", env) ?? !isLoopback(given.host)',
    replace: 'flag("SVC_PROTECT_ALL", env) ?? false',
    tests: ["test/local/options.test.ts"],
  },
];
