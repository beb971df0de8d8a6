/** The schema of JSON-RPC answers, in which the MCP endpoint answers. */
import * as z from "zod";

/** Answer to a JSON-RPC message. */
export const rpcAnswerSchema = z
  .object({
    jsonrpc: z.literal("2.0").describe("Version of JSON-RPC."),
    id: z.union([z.string(), z.number().int()]).nullable().describe("Id of the request; null if unreadable."),
    result: z.looseObject({}).optional().describe("Result of the method, by the protocol."),
    error: z
      .object({
        code: z.number().int().describe("JSON-RPC's code, or the protocol's."),
        message: z.string().describe("The error in words."),
        data: z.unknown().optional().describe("Details that help to correct it."),
      })
      .optional()
      .describe("Why the message was not taken; absent beside a result."),
  })
  .describe("A JSON-RPC 2.0 answer of MCP.");
