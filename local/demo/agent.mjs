/**
 * The agent: `node local/demo/agent.mjs SERVICE_URL PROPOSAL`, with its secret in SVC_AGENT_TOKEN. It speaks MCP, proposes,
 * waits for people, and tells what it was answered, a JSON object a line.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { PROPOSALS } from "./proposals.mjs";

const [url, name] = process.argv.slice(2);
const headers = { authorization: `Bearer ${process.env.SVC_AGENT_TOKEN}` };
const tell = (event, told) => console.log(JSON.stringify({ event, ...told }));

const agent = new Client({ name: "shopkeeper", version: "1.0.0" });
await agent.connect(new StreamableHTTPClientTransport(new URL("mcp", url), { requestInit: { headers } }));

async function call(tool, args) {
  const { isError, structuredContent, content } = await agent.callTool({ name: tool, arguments: args });
  if (isError) throw new Error(`${tool}: ${content.map(({ text }) => text).join(" ")}`);
  return structuredContent;
}

const { change_id, page, status } = await call("propose_change", PROPOSALS[name]);
tell("proposed", { change_id, page, status });

// No tool of MCP consents, so it tries what people do, with the only secret it has.
const body = new URLSearchParams({ change_id, approver: "ana@teashop.example" });
const refused = await fetch(new URL("api/product/approve", url), { method: "POST", headers, body });
tell("tried_to_consent", { status: refused.status, code: (await refused.json()).code });

let change;
do change = await call("wait_for_decision", { change_id });
while (!change.moved);
tell("decided", { status: change.status });
await agent.close();
