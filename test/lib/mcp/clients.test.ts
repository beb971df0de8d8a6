/** The official SDK's client, as it comes, in both eras: it holds what it is answered to the protocol and to the tools' schemas. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { openDeps } from "../../support/deps.ts";
import { AGENT, asAgent, withAgents } from "../../support/mcp.ts";

test.each([
  ["auto", "2026-07-28"],
  ["legacy", "2025-11-25"],
] as const)("version negotiation %s speaks %s, lists the tools, proposes and reads", async (mode, version) => {
  const serve = app(await openDeps({ intent: withAgents() }));
  const speaker = new Client({ name: "an agent", version: "1" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1:8420/mcp"), {
    requestInit: { headers: asAgent },
    fetch: (url, init) => serve(new Request(url, init)),
  });
  await speaker.connect(transport);
  expect(speaker.getNegotiatedProtocolVersion()).toBe(version);
  expect(speaker.getInstructions()).toContain(AGENT);
  const { tools } = await speaker.listTools();
  expect(tools).toHaveLength(9);
  for (const { name, inputSchema } of tools)
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
      expect(schema, `${name}: ${field}`).toHaveProperty("description");
  const call = async (name: string, args: Record<string, unknown>) =>
    (await speaker.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;
  const proposal = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show" };
  const { change_id } = await call("propose_change", proposal);
  const off = await call("propose_change", { ...proposal, target: "ui.flag", value: false });
  expect([off["value"], off["value_hint"]]).toEqual([false, undefined]);
  const text = await call("propose_change", { ...proposal, target: "ui.text", value: "false" });
  expect([text["value"], text["value_hint"]]).toEqual(["false", expect.stringContaining("a JSON boolean")]);
  expect(await call("get_change", { change_id: change_id as string })).toMatchObject({ proposer: AGENT });
  await speaker.close();
});
