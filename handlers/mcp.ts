import * as z from "zod";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { hasWrongToken, rejectAdminToken } from "../lib/http/principals.ts";
import { delayAnswer } from "../lib/http/wrong_tokens.ts";
import { rpcAnswerSchema } from "../lib/http/rpc_answer.ts";
import { answerMessage } from "../lib/mcp/server.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";

/** JSON Schema of a message, for the API description. */
const MESSAGE = {
  type: "object",
  description: "One JSON-RPC 2.0 message of MCP; without an id a notification.",
  required: ["jsonrpc", "method"],
  properties: {
    jsonrpc: { const: "2.0", description: "Version of JSON-RPC." },
    id: { type: ["string", "integer"], description: "Repeated in the answer." },
    method: { type: "string", description: "Such as tools/list or tools/call." },
    params: { type: "object", description: "Parameters of the method." },
  },
};

/** POST /mcp: the Model Context Protocol, streamable HTTP without sessions, for agents with their secret. */
export const mcp = endpoint(
  {
    method: "POST",
    path: "/mcp",
    summary: "Model Context Protocol",
    operation: "speakMcp",
    description: "The Model Context Protocol over HTTP. An agent with its secret proposes.",
    example: { message: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
    ownReads: "filtered",
    product: true,
    agents: true,
    // Everybody who may read may list the tools; a tool that writes requires an agent's secret itself.
    reads: true,
    text: "message",
    textType: "application/json",
    input: z.object({ message: z.string().meta({ contentSchema: MESSAGE }) }),
    output: rpcAnswerSchema,
    sameBodyStatuses: [400, 404],
    emptyStatuses: [202],
    errors: ["agent_required"],
  },
  async ({ message }, call: Call<OperationsDeps>) => {
    // The list of tools reveals if a secret is correct, so answers to wrong ones are delayed, as at other endpoints.
    if (hasWrongToken(call.request, call.deps)) await delayAnswer(call.deps, call.request);
    rejectAdminToken(call.request, call.deps);
    return answerMessage(call, message);
  },
);
