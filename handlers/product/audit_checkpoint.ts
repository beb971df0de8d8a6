import * as z from "zod";
import { type Checkpoint, currentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { newestCosigned, withCosignatures, witnessed } from "../../lib/audit/witnessing.ts";
import { flag } from "../../lib/http/form.ts";
import { AppError } from "../../lib/kit/errors.ts";
import { base64Of } from "../../lib/kit/base64.ts";
import { bytesOf } from "../../lib/audit/merkle.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import type { PulseDeps } from "../../lib/pulse/deps.ts";
import { answer, plainResponse } from "../../lib/http/answer.ts";

/** GET /api/product/audit/checkpoint: the log's length and Merkle root in a signed note, with what witnesses put to it; `Accept: text/plain` gives the note. */
export const auditCheckpoint = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/checkpoint",
    summary: "Checkpoint of the audit log",
    product: true,
    input: z.object({
      /** The newest checkpoint that a witness has cosigned, in place of the one of now. */
      cosigned: flag.optional(),
    }),
    errors: ["not_found"],
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
        /** What each witness saw last: the log's length, and when, by its own clock; `null` before the first time. */
        witnesses: z.array(z.object({ name: z.string(), length: z.number().int(), at: z.string().nullable() })),
      }),
      z
        .string()
        .meta({ contentMediaType: "text/plain", description: "The signed note alone, for Accept: text/plain." }),
    ]),
  },
  async ({ cosigned }, { deps, request }: Call<PulseDeps>) => {
    const checkpointed = cosigned ? undefined : await currentCheckpoint(deps);
    const seen = await witnessed(deps);
    const { origin, length, root, key, at, note } = checkpointed ?? lastCosigned(seen);
    const checkpoint = withCosignatures(note, seen);
    if (wantsText(request)) return plainResponse(checkpoint, { vary: "accept" });
    const witnesses = seen.map(({ witness, seen: { length, at } }) => ({
      name: witness.key.name,
      length,
      at: at === "" ? null : at,
    }));
    const body = {
      checkpoint,
      origin,
      length,
      root: base64Of(bytesOf(root)),
      signed: key !== null,
      key,
      at,
      witnesses,
    };
    return answer(body, 200, { vary: "accept" });
  },
);

function lastCosigned(seen: Parameters<typeof newestCosigned>[0]): Checkpoint {
  const checkpoint = newestCosigned(seen);
  if (checkpoint) return checkpoint;
  throw new AppError("not_found", "no witness has cosigned a checkpoint yet");
}

const wantsText = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/plain") && !accept.includes("application/json");
};
