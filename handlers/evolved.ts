import * as z from "zod";
import type { PulseDeps } from "../lib/pulse/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";

/** GET /api/evolved: the self-evolution files, newest first; none where the host keeps no files. */
export const evolved = endpoint(
  {
    method: "GET",
    path: "/api/evolved",
    summary: "Self-evolution files",
    input: z.object({}),
    output: z.object({
      files: z.array(
        z.object({
          name: z.string(),
          bytes: z.number().int(),
          sha256: z.string(),
          modified_at: z.string(),
          kind: z.enum(["retrospective", "report", "lessons", "other"]),
        }),
      ),
    }),
  },
  async (_input, { deps }: Call<PulseDeps>) => answer({ files: (await deps.evolved?.list()) ?? [] }),
);
