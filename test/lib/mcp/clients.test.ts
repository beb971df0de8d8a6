/** The client of the official SDK, which validates responses by protocol and schema, works in both version ranges of MCP. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { openDeps } from "../../support/deps.ts";
import { AGENT, asAgent, withAgents } from "../../support/mcp.ts";

test.each([
  ["auto", "2026-07-28"],
  ["legacy", "2025-11-25"],
] as const)(
  "with version negotiation %s the client uses %s, lists the tools, proposes and reads",
  async (mode, version) => {
    const serve = app(await openDeps({ intent: withAgents() }));
    const sdkClient = new Client({ name: "an agent", version: "1" }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1:8420/mcp"), {
      requestInit: { headers: asAgent },
      fetch: (url, init) => serve(new Request(url, init)),
    });
    await sdkClient.connect(transport);
    expect(sdkClient.getNegotiatedProtocolVersion()).toBe(version);
    expect(sdkClient.getInstructions()).toContain(AGENT);
    const { tools } = await sdkClient.listTools();
    expect(tools).toHaveLength(9);
    for (const { name, inputSchema } of tools)
      for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
        expect(schema, `${name}: ${field}`).toHaveProperty("description");
    const call = async (name: string, args: Record<string, unknown>) =>
      (await sdkClient.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;
    const proposal = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show" };
    const { change_id } = await call("propose_change", proposal);
    const boolean = await call("propose_change", { ...proposal, target: "ui.flag", value: false });
    expect([boolean["value"], boolean["value_hint"]]).toEqual([false, undefined]);
    const text = await call("propose_change", { ...proposal, target: "ui.text", value: "false" });
    expect([text["value"], text["value_hint"]]).toEqual(["false", expect.stringContaining("a JSON boolean")]);
    expect(await call("get_change", { change_id: change_id as string })).toMatchObject({ proposer: AGENT });
    await sdkClient.close();
  },
);
