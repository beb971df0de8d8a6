/** MCP: who is offered what, what is refused before a tool is reached, and what the tools tell. */

const protocol = { tests: ["test/lib/mcp/protocol.test.ts"] };
const tools = { tests: ["test/lib/mcp/tools.test.ts"] };
const bridge = { file: "local/command_line/mcp.ts", tests: ["test/local/mcp_bridge.test.ts"] };
const HOSTILE = ["test/handlers/agent_hostile.test.ts"];

export const mcp = [
  {
    file: "lib/http/admission.ts",
    name: "among hostile calls, an agent's secret may approve",
    find: "if (write && !terms.agents) throw agentMayNot(name);",
    replace: "if (write && terms.open) throw agentMayNot(name);",
    tests: HOSTILE,
  },
  {
    file: "lib/http/admission.ts",
    name: "among hostile calls, whoever else a request names is who asks",
    find: "return { agent: name, readsOwn, person: undefined, ",
    replace: "return { agent: undefined, person: findPerson(deps, request), ",
    tests: HOSTILE,
  },
  {
    ...protocol,
    file: "handlers/mcp.ts",
    name: "the admin token is taken over MCP",
    find: "refuseAdminToken(call.request, call.deps);",
    replace: "void refuseAdminToken;",
  },
  {
    ...protocol,
    file: "lib/http/principals.ts",
    name: "the admin token as a bearer is nobody's where bearers mean nothing",
    find: 'if (!asBearer && !request.headers.has("x-svc-admin-token")) return;',
    replace: 'if (!request.headers.has("x-svc-admin-token")) return;',
  },
  {
    ...protocol,
    file: "lib/mcp/server.ts",
    name: "a tool that writes can be called by nobody in particular",
    find: "if (tool.writes && agent === undefined) throw agentRequired(tool.name);",
    replace: "void agentRequired;",
  },
  {
    ...protocol,
    file: "lib/mcp/toolbox.ts",
    name: "whoever may only read is offered what writes",
    find: "(agent !== undefined || !writes) && ",
    replace: "",
  },
  {
    ...protocol,
    file: "lib/http/admission.ts",
    name: "a page of another site may speak MCP",
    find: 'if (terms.method === "POST") requireSameSite',
    replace: "if (isWrite(terms)) requireSameSite",
  },
  {
    ...protocol,
    file: "lib/mcp/era.ts",
    name: "headers of the newer era may say something else than the body",
    find: "if (given === wanted) return;",
    replace: "if (given === wanted || header) return;",
  },
  {
    ...protocol,
    file: "lib/mcp/era.ts",
    name: "the newer era is served to whoever does not say what they can",
    find: 'if (!isObject(readMeta(message, "clientCapabilities"))) throw incomplete("clientCapabilities");',
    replace: "",
  },
  {
    ...tools,
    file: "lib/mcp/tools/propose_change.ts",
    name: "a proposal over MCP may name another proposer",
    find: "const { proposer: _, sets, ...fields } = proposalFields(deps);",
    replace: "const { sets, ...fields } = proposalFields(deps);",
  },
  {
    ...tools,
    file: "lib/mcp/tools/propose_change.ts",
    name: "one agent's key stands for another's",
    find: '"propose_change", identity.agent, key]',
    replace: '"propose_change", key]',
  },
  {
    ...tools,
    file: "lib/mcp/tools/propose_change.ts",
    name: "a retry over MCP files another proposal",
    find: "key ? storedReplies(key, proposalReply) : undefined",
    replace: "key && undefined",
  },
  {
    ...tools,
    file: "lib/mcp/tools/wait_for_decision.ts",
    name: "a decision before the wait is waited past",
    find: "from: ({ status }) => status === seen_status,",
    replace: "",
    only: "decided already",
  },
  {
    ...tools,
    file: "lib/operations/page_address.ts",
    name: "a page is made up where there is no console",
    find: "(hasConsole(deps) ? addressOf(request) : undefined)",
    replace: "(hasConsole(deps) ? addressOf(request) : addressOf(request))",
  },
  {
    ...tools,
    file: "lib/changes/preview_proposal.ts",
    name: "what is forbidden is previewed as allowed",
    find: "requireAllowedTarget(proposal, intent.policy);",
    replace: "void requireAllowedTarget;",
  },
  {
    file: "lib/mcp/server.ts",
    name: "a task is handed to whoever takes none",
    find: "const task = tasks ? await tool.task?.(input, call) : undefined;",
    replace: "const task = await tool.task?.(input, call);",
    tests: ["test/lib/mcp/tasks.long.test.ts"],
  },
  {
    file: "lib/mcp/tasks.ts",
    name: "a task is never done",
    find: "return status === seen_status",
    replace: "return status",
    tests: ["test/lib/mcp/tasks.long.test.ts"],
  },
  {
    ...bridge,
    name: "what a client cancelled is answered all the same",
    find: "if (!gone.signal.aborted) write(said);",
    replace: "write(said);",
  },
  {
    ...bridge,
    name: "the service's own refusal is lost on the way",
    find: "sentenceIn(text) ??",
    replace: "(sentenceIn(text) && undefined) ??",
  },
];
