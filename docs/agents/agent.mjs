// agent.mjs
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const headers = { authorization: `Bearer ${process.env.SVC_AGENT_TOKEN}` };
const agent = new Client({ name: "pricing", version: "1.0.0" });
await agent.connect(
  new StreamableHTTPClientTransport(new URL("http://127.0.0.1:8420/mcp"), { requestInit: { headers } }),
);

const { tools } = await agent.listTools();
console.log(tools.map(({ name }) => name).join(" "));
const call = async (name, args) => (await agent.callTool({ name, arguments: args })).structuredContent;

const { change_id, next } = await call("propose_change", {
  tenant_id: "t1",
  kind: "config",
  target: "price.list",
  value: 49,
  summary: "Raise the list price",
  rationale: "The last two raises lost nobody.",
});
console.log(next);

let change;
do change = await call("wait_for_decision", { change_id });
while (!change.moved);
console.log(change.status);
await agent.close();
