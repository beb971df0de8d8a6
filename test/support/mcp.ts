/** A client of the MCP endpoint, in both versions of the protocol. */
import { portableSha256 } from "../../lib/kit/platform.ts";
import type { Manifest } from "./intents.ts";
import { ORIGIN } from "./requests.ts";
import type { Fetch } from "./client.ts";

/** Secret of the agent in these tests. */
export const SECRET = "an-agents-own-secret";
export const AGENT = "agent:pricing";

/** Returns an intent with two agents whose changes ana and bo approve. */
export const withAgents = (policy: Manifest = {}): Manifest => ({
  principals: {
    ana: { kind: "person" },
    [AGENT]: { kind: "agent", token_sha256: portableSha256(SECRET) },
    "agent:other": { kind: "agent", token_sha256: portableSha256("another agent's secret") },
  },
  policy: { approvers: ["ana", "bo"], required_approvers: { standard: 1, major: 2 }, self_approval: false, ...policy },
});

export const asAgent = { authorization: `Bearer ${SECRET}` };

/** Version of the protocol: `modern` is 2026-07-28, whose headers repeat parts of the body, and `legacy` 2025-06-18. */
export type Era = "modern" | "legacy";
const VERSION = "2026-07-28";

/** Returns the params and headers of a message in a version of the protocol. */
export function makeMessage(era: Era, method: string, params: Record<string, unknown> = {}) {
  if (era === "legacy") return { params, headers: { "mcp-protocol-version": "2025-06-18" } };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const name = method === "tools/call" ? { "mcp-name": String(params["name"]) } : {};
  return {
    params: { ...params, _meta: meta },
    headers: { "mcp-protocol-version": VERSION, "mcp-method": method, ...name },
  };
}

/** Returns a client of /mcp that sends `defaultHeaders` with each request. */
export function mcpClient(fetch: Fetch, defaultHeaders: Record<string, string> = {}, origin: string = ORIGIN) {
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(
      new Request(`${origin}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...defaultHeaders, ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
    const text = await response.text();
    // oxlint-disable-next-line no-explicit-any -- any JSON
    return { status: response.status, headers: response.headers, body: (text === "" ? null : JSON.parse(text)) as any };
  };
  const request = (method: string, params: Record<string, unknown> = {}, era: Era = "modern") => {
    const message = makeMessage(era, method, params);
    return send({ jsonrpc: "2.0", id: 1, method, params: message.params }, message.headers);
  };
  return {
    send,
    request,
    /** Calls a tool; returns its result, or its error as `refused`. */
    async tool(name: string, args: Record<string, unknown> = {}, era: Era = "modern") {
      const { body } = await request("tools/call", { name, arguments: args }, era);
      if (!body?.result) throw new Error(JSON.stringify(body));
      const { isError, structuredContent, content } = body.result;
      return isError ? { refused: JSON.parse(content[0].text) } : structuredContent;
    },
  };
}
