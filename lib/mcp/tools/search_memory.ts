import * as z from "zod";
import { line, integer } from "../../kit/fields.ts";
import { recall, foundMemorySchema } from "../../memory/recall.ts";
import { ABOUT_TEXTS, aboutTexts } from "../change_status.ts";
import { createTool } from "../tool.ts";

/** The tool that searches memory. */
export const searchMemory = createTool(
  {
    name: "search_memory",
    title: "Search memory",
    description:
      "Memories of earlier proposals, decisions, outcomes, verdicts, rollbacks, feedback and insights; records come before statements of people. Search for results of similar changes before proposing.",
    ownReads: true,
    input: z.strictObject({
      query: line(1000).describe("Words to look for."),
      limit: integer(1, 20).default(8).describe("Maximum number."),
    }),
    output: z.object({ results: z.array(foundMemorySchema), about_texts: aboutTexts }),
  },
  // An agent has no conversation, so it finds no chat messages.
  async (search, { deps }) => ({ results: await recall(deps, search), about_texts: ABOUT_TEXTS }),
);
