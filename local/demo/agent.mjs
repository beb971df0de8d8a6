/**
 * The agent: `node local/demo/agent.mjs SERVICE_URL PROPOSAL`, with its secret in SVC_AGENT_TOKEN. The agent proposes over
 * MCP, waits for the decision of people, and prints each answer as a line of JSON.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { PROPOSALS } from "./proposals.mjs";

const [url, proposal] = process.argv.slice(2);
const headers = { authorization: `Bearer ${process.env.SVC_AGENT_TOKEN}` };
const report = (event, details) => console.log(JSON.stringify({ event, ...details }));

const agent = new Client({ name: "shopkeeper", version: "1.0.0" });
await agent.connect(new StreamableHTTPClientTransport(new URL("mcp", url), { requestInit: { headers } }));

async function call(tool, args) {
  const { isError, structuredContent, content } = await agent.callTool({ name: tool, arguments: args });
  if (isError) throw new Error(`${tool}: ${content.map(({ text }) => text).join(" ")}`);
  return structuredContent;
}

const { change_id, page, status } = await call("propose_change", PROPOSALS[proposal]);
report("proposed", { change_id, page, status });

// MCP has no tool for consent, so the agent tries the request of people with its own secret.
const body = new URLSearchParams({ change_id, approver: "ana@teashop.example" });
const rejection = await fetch(new URL("api/product/approve", url), { method: "POST", headers, body });
report("tried_to_consent", { status: rejection.status, code: (await rejection.json()).code });

// Each call waits for a limited time; `moved` is false if the change was not decided until then.
let change;
do change = await call("wait_for_decision", { change_id });
while (!change.moved);
report("decided", { status: change.status });
await agent.close();
