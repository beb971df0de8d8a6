/** Setup of docs/agents.md: the examples configure the address of the MCP endpoint and take the secret from a variable. */
import { expect } from "vitest";
import type { DocumentSetup } from "./index.ts";

const MCP_URL = "http://127.0.0.1:8420/mcp";

export const agents: DocumentSetup = {
  programs: ["curl", "openssl"],
  prepare: () => ({
    exampleChecks: {
      "json cursor": ({ mcpServers }) =>
        expect(mcpServers.countersign).toMatchObject({
          url: MCP_URL,
          headers: { Authorization: "Bearer ${env:SVC_AGENT_TOKEN}" },
        }),
      "json vscode": ({ inputs, servers }) =>
        expect(servers.countersign).toMatchObject({
          type: "http",
          url: MCP_URL,
          headers: { Authorization: `Bearer \${input:${inputs[0].id}}` },
        }),
    },
  }),
};
