import * as z from "zod";
import { type Checkpoint, readCheckpoint } from "../../lib/audit/checkpoint.ts";
import { findNewestCosigned, appendCosignatures, readWitnessStates } from "../../lib/audit/request_cosignatures.ts";
import { flag } from "../../lib/kit/fields.ts";
import { AppError } from "../../lib/kit/errors.ts";
import { toBase64 } from "../../lib/kit/base64.ts";
import { hexBytes } from "../../lib/audit/merkle.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import type { OperationsDeps } from "../../lib/operations/deps.ts";
import { answer, plainResponse } from "../../lib/http/answer.ts";

/** GET /api/product/audit/checkpoint: a checkpoint of the log with cosignatures of witnesses; `Accept: text/plain` returns the note. */
export const auditCheckpoint = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/checkpoint",
    summary: "Checkpoint of the audit log",
    operation: "getCheckpoint",
    description: "Length and Merkle root as a C2SP checkpoint. Accept: text/plain returns the signed note.",
    example: { cosigned: true },
    ownReads: "neutral",
    product: true,
    input: () =>
      z.object({
        cosigned: flag().optional().describe("The newest cosigned checkpoint instead of the current one."),
      }),
    errors: ["not_found"],
    output: () =>
      z.union([
        z.object({
          checkpoint: z.string().meta({
            description: "C2SP tlog-checkpoint in a signed note.",
            examples: ["acme-crm/audit/0f3a\n2\nHf2TKiQNRIg89DQAkkG+Lx3pRq41bGOysIVOjp43W3U=\n"],
          }),
          origin: z.string().meta({ description: "Name of the log.", examples: ["acme-crm/audit/0f3a"] }),
          length: z.number().int().describe("Number of entries in the checkpoint."),
          root: z.string().meta({
            description: "Root of the Merkle tree over them, base64.",
            examples: ["Hf2TKiQN…"],
          }),
          signed: z.boolean().describe("True if the log signed it."),
          key: z.string().nullable().describe("Verifier key of the log; null when not signed."),
          at: z.string().meta({ description: "Time of the checkpoint.", format: "date-time" }),
          witnesses: z
            .array(
              z.object({
                name: z.string().meta({ description: "The witness.", examples: ["acme-crm-witness"] }),
                length: z.number().int().describe("Number of entries in it."),
                at: z
                  .string()
                  .nullable()
                  .meta({
                    description: "Time by the witness's clock; null before the first one.",
                    examples: ["2026-11-22T18:00:00.000Z"],
                  }),
              }),
            )
            .describe("Last checkpoint of each witness."),
        }),
        z
          .string()
          .meta({ contentMediaType: "text/plain", description: "The signed note alone, for Accept: text/plain." }),
      ]),
  },
  async ({ cosigned }, { deps, request }: Call<OperationsDeps>) => {
    const current = cosigned ? undefined : await readCheckpoint(deps);
    const witnessStates = await readWitnessStates(deps);
    const { origin, length, root, key, at, note } = current ?? requireCosigned(witnessStates);
    const checkpoint = appendCosignatures(note, witnessStates);
    if (wantsText(request)) return plainResponse(checkpoint, { vary: "accept" });
    const witnesses = witnessStates.map(({ witness, state }) => ({
      name: witness.key.name,
      length: state.length,
      at: state.at === "" ? null : state.at,
    }));
    const body = {
      checkpoint,
      origin,
      length,
      root: toBase64(hexBytes(root)),
      signed: key !== null,
      key,
      at,
      witnesses,
    };
    return answer(body, 200, { vary: "accept" });
  },
);

function requireCosigned(witnessStates: Parameters<typeof findNewestCosigned>[0]): Checkpoint {
  const checkpoint = findNewestCosigned(witnessStates);
  if (checkpoint) return checkpoint;
  throw new AppError("not_found", "no witness has cosigned a checkpoint yet");
}

const wantsText = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/plain") && !accept.includes("application/json");
};
