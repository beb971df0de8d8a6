import * as z from "zod";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";

/** GET /api/evolved: the self-evolution files, newest first; none if the host stores no files. */
export const evolved = endpoint(
  {
    method: "GET",
    path: "/api/evolved",
    summary: "Self-evolution files",
    operation: "listEvolvedFiles",
    description: "Self-evolution files, newest first; none if the host stores no files.",
    example: {},
    input: z.object({}),
    output: z.object({
      files: z
        .array(
          z.object({
            name: z.string().meta({ description: "Name of the file.", examples: ["report-2026-W47.md"] }),
            bytes: z.number().int().describe("Size in bytes."),
            sha256: z.string().meta({
              description: "SHA-256 (hex) of the text.",
              examples: ["9f86d081…"],
            }),
            modified_at: z
              .string()
              .meta({ description: "Time of the last write.", examples: ["2026-11-22T18:00:00.000Z"] }),
            kind: z.enum(["retrospective", "report", "other"]).describe("Kind of file, by its name."),
          }),
        )
        .describe("Files, newest first."),
    }),
  },
  async (_input, { deps }: Call<OperationsDeps>) => answer({ files: (await deps.evolved?.list()) ?? [] }),
);
