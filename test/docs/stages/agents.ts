import { expect } from "vitest";
import type { Requirements } from "./index.ts";

const URL = "http://127.0.0.1:8420/mcp";

export const agents: Requirements = {
  needs: ["curl", "openssl"],
  stage: () => ({
    readers: {
      "json cursor": ({ mcpServers }) =>
        expect(mcpServers.countersign).toMatchObject({
          url: URL,
          headers: { Authorization: "Bearer ${env:SVC_AGENT_TOKEN}" },
        }),
      "json vscode": ({ inputs, servers }) =>
        expect(servers.countersign).toMatchObject({
          type: "http",
          url: URL,
          headers: { Authorization: `Bearer \${input:${inputs[0].id}}` },
        }),
    },
  }),
};
