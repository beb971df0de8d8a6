import * as z from "zod";

/** Answer to a JSON-RPC message. */
export const rpcAnswerSchema = z
  .object({
    jsonrpc: z.literal("2.0").describe("Version of JSON-RPC."),
    id: z.union([z.string(), z.number().int()]).nullable().describe("The request's; null where none could be read."),
    result: z.looseObject({}).optional().describe("What the method answers, as the protocol has it."),
    error: z
      .object({
        code: z.number().int().describe("JSON-RPC's code, or the protocol's."),
        message: z.string().describe("What is wrong, in words."),
        data: z.unknown().optional().describe("What helps to mend it."),
      })
      .optional()
      .describe("Why the message was not taken; absent beside a result."),
  })
  .describe("One JSON-RPC 2.0 answer of MCP.");
