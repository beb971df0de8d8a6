import * as z from "zod";
import { readCosigned, type WatchDeps } from "../lib/audit/witness_service.ts";
import { plainResponse } from "../lib/http/answer.ts";
import type { HttpDeps } from "../lib/http/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { AppError } from "../lib/kit/errors.ts";

/** GET /<SHA-256 of a log's origin>/checkpoint: the last checkpoint of a watched log, with this witness's cosignature. */
export const watchedCheckpoint = endpoint(
  {
    method: "GET",
    path: "/:origin_hash/checkpoint",
    summary: "The last checkpoint that this witness cosigned of another log",
    operation: "getWatchedCheckpoint",
    description: "The last checkpoint of a watched log that this witness cosigned.",
    example: { origin_hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
    open: true,
    input: z.object({ origin_hash: z.string().describe("SHA-256 (hex) of the log's origin.") }),
    output: z.string().meta({ contentMediaType: "text/plain", description: "A signed note." }),
  },
  async ({ origin_hash }, { deps }: Call<HttpDeps & WatchDeps>) => {
    const note = await readCosigned(deps, origin_hash);
    if (note === undefined) throw new AppError("not_found", "no checkpoint of this log was cosigned here");
    return plainResponse(note);
  },
);
