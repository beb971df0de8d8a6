import * as z from "zod";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import { plainResponse } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { AppError } from "../lib/kit/errors.ts";

/** GET /api/evolved/<file>: one self-evolution file, as text that browsers do not render. */
export const evolvedFile = endpoint(
  {
    method: "GET",
    path: "/api/evolved/:file",
    summary: "One self-evolution file",
    operation: "getEvolvedFile",
    description: "A file with the service's reports, as text.",
    example: { file: "report-2026-W47.md" },
    input: z.object({ file: z.string().describe("Name of the file.") }),
    output: z.union([
      z.string().meta({ contentMediaType: "text/markdown" }),
      z.string().meta({ contentMediaType: "text/plain" }),
    ]),
  },
  async ({ file }, { deps }: Call<OperationsDeps>) => {
    const text = await deps.evolved?.read(file);
    if (text === undefined) throw new AppError("not_found", "there is no self-evolution file of this name");
    return plainResponse(text, {
      "content-type": `text/${file.endsWith(".md") ? "markdown" : "plain"}; charset=utf-8`,
      "content-security-policy": "default-src 'none'; sandbox",
    });
  },
);
