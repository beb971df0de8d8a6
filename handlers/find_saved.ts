import * as z from "zod";
import { readCurrentRows } from "../lib/find/change_index.ts";
import { listCompletions, completionSchema } from "../lib/find/completion.ts";
import { SAVED_QUESTIONS } from "../lib/find/saved_questions.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { answer } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import { runWithScanLimit } from "../lib/kit/semaphore.ts";

/** GET /api/find/saved: saved questions, and completions for queries. */
export const findSaved = endpoint(
  {
    method: "GET",
    path: "/api/find/saved",
    summary: "Saved questions and fields",
    operation: "listSavedQuestions",
    description: "Lists saved queries, and the fields of the query language with values.",
    example: {},
    ownReads: "filtered",
    product: true,
    input: z.object({}),
    output: () =>
      z.object({
        saved: z
          .array(
            z.object({
              id: z.string().meta({ description: "Id of the question.", examples: ["waiting-for-me"] }),
              title: z
                .object({
                  en: z.string().meta({ description: "The name in English.", examples: ["Waiting for me"] }),
                  zh: z.string().meta({ description: "The name in Chinese.", examples: ["等我处理的"] }),
                })
                .describe("The name for people."),
              query: z.string().meta({ description: "Text of the query.", examples: ["is:waiting sort:expires-asc"] }),
            }),
          )
          .describe("Queries with names."),
        fields: completionSchema(),
      }),
    errors: ["reads_busy"],
  },
  async (_, call: Call<ChangesDeps>) => {
    const deps = addRequestCache(call.deps);
    const fields = await runWithScanLimit(deps.store, async () => listCompletions(deps, await readCurrentRows(deps)));
    return answer({ saved: [...SAVED_QUESTIONS], fields });
  },
);
