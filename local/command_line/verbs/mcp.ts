/** Verb that bridges MCP to the service. */
import type { Verb } from "../verb.ts";

/** Speaks MCP for an agent, on the standard input and output. */
export const mcp: Verb = {
  usage: "mcp",
  summary: "Speak MCP on standard input and output, for an agent with its secret",
  plain: true,
  asAgent: true,
  async run({ url, bearer, input, output, fetch }) {
    const { runMcp } = await import("../mcp.ts");
    const send = (address: string | URL | Request, init?: RequestInit) => fetch(new Request(address, init));
    await runMcp({ url, token: bearer, input, output, fetch: send });
    return {};
  },
};
