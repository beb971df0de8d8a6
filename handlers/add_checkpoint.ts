import * as z from "zod";
import { judgeSubmission, type WatchDeps } from "../lib/audit/witness_service.ts";
import { plainResponse } from "../lib/http/answer.ts";
import type { HttpDeps } from "../lib/http/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";

const SIZE = "text/x.tlog.size";

/**
 * POST /add-checkpoint: cosigns a checkpoint of a watched log (C2SP tlog-witness). It needs no token: the log's signature
 * authenticates it. 409 answers the size that was cosigned last.
 */
export const addCheckpoint = endpoint(
  {
    method: "POST",
    path: "/add-checkpoint",
    summary: "Cosigns a checkpoint of another log, as a witness of it",
    operation: "addCheckpoint",
    description: "Cosigns the checkpoint of another log (C2SP tlog-witness).",
    example: {
      submission:
        "old 0\n\nacme-crm/audit/0f\n2\nHf2TKiQNRIg89DQAkkG+Lx3pRq41bGOysIVOjp43W3U=\n\n— acme-crm/audit/0f …\n",
    },
    open: true,
    text: "submission",
    input: z.object({
      submission: z.string().describe("C2SP add-checkpoint request: old size, consistency proof, checkpoint."),
    }),
    sameBodyStatuses: [409],
    output: z.union([
      z.string().meta({ contentMediaType: "text/plain", description: "The signature line of this witness." }),
      z.string().meta({ contentMediaType: SIZE, description: "With 409: the size that was cosigned last." }),
    ]),
    errors: ["not_found", "checkpoint_untrusted", "checkpoint_inconsistent"],
  },
  async ({ submission }, { deps }: Call<HttpDeps & WatchDeps>) => {
    const result = await judgeSubmission(deps, submission);
    return "line" in result
      ? plainResponse(result.line)
      : plainResponse(`${result.latest}\n`, { "content-type": SIZE }, 409);
  },
);
