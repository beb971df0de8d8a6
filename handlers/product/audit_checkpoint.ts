import * as z from "zod";
import { currentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { base64Of } from "../../lib/kit/base64.ts";
import { bytesOf } from "../../lib/audit/merkle.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import type { PulseDeps } from "../../lib/pulse/deps.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/audit/checkpoint: the log's length and Merkle root in a signed note; `Accept: text/plain` gives the note. */
export const auditCheckpoint = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/checkpoint",
    summary: "Checkpoint of the audit log",
    product: true,
    input: z.object({}),
    output: z.union([
      z.object({
        /** C2SP tlog-checkpoint in a signed note. */
        checkpoint: z.string(),
        origin: z.string(),
        length: z.number().int(),
        /** Base64, as in the note. */
        root: z.string(),
        signed: z.boolean(),
        /** The verifier key, `null` when the checkpoint is not signed. */
        key: z.string().nullable(),
        at: z.string(),
      }),
      z
        .string()
        .meta({ contentMediaType: "text/plain", description: "The signed note alone, for Accept: text/plain." }),
    ]),
  },
  async (_, { deps, request }: Call<PulseDeps>) => {
    const { note, origin, length, root, key, at } = await currentCheckpoint(deps);
    if (wantsText(request))
      return new Response(note, {
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
          vary: "accept",
        },
      });
    const body = { checkpoint: note, origin, length, root: base64Of(bytesOf(root)), signed: key !== null, key, at };
    return answer(body, 200, { vary: "accept" });
  },
);

const wantsText = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/plain") && !accept.includes("application/json");
};
