import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { readCheckpoint } from "../../lib/audit/checkpoint.ts";
import { proveConsistency, proveInclusion, runWithCompleteTree } from "../../lib/audit/prove.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { invalidField } from "../../lib/kit/errors.ts";
import { integer } from "../../lib/kit/fields.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/audit/proof: with `id`, proves that the log has an entry; with `from`, that the log only grew since that length. */
export const auditProof = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/proof",
    summary: "Inclusion or consistency proof of the audit log",
    operation: "getProof",
    description: "With id: a Merkle proof of that entry. With from: a proof that the log only grew.",
    example: { id: 7, length: 12 },
    ownReads: "neutral",
    product: true,
    input: () =>
      z.object({
        id: integer(1).optional().describe("Entry to prove; instead of from."),
        from: integer(1).optional().describe("Earlier length that the log is proved to continue; instead of id."),
        length: integer(1).optional().describe("Length of the log that the proof is for; absent: now."),
      }),
    output: () =>
      z.object({
        kind: z.enum(["inclusion", "consistency"]).describe("Kind of proof."),
        id: z.number().int().optional().describe("For an inclusion proof: the entry."),
        leaf: z
          .string()
          .optional()
          .meta({
            description: "For an inclusion proof: current_hash of the entry, the leaf of the tree.",
            examples: ["a38b13eb…"],
          }),
        from: z.number().int().optional().describe("For a consistency proof: the earlier length."),
        from_root: z
          .string()
          .optional()
          .meta({
            description: "For a consistency proof: root, base64.",
            examples: ["Hf2TKiQN…"],
          }),
        length: z.number().int().describe("Length of the log that is proved."),
        root: z.string().meta({ description: "Root of the log, base64.", examples: ["Hf2TKiQN…"] }),
        proof: z.array(z.string()).meta({
          description: "Hashes of the proof (RFC 6962), base64.",
          examples: [["Hf2TKiQN…"]],
        }),
        checkpoint: z.string().nullable().describe("Checkpoint of that length; null when the newest is of another."),
      }),
  },
  async ({ id, from, length: requestedLength }, { deps }: Call<ChangesDeps>) => {
    if ((id === undefined) === (from === undefined))
      throw invalidField("id", "or from is required, and not both: id for inclusion, from for consistency");
    const newest = await readCheckpoint(deps);
    const length = requestedLength ?? newest.length;
    if (length > newest.length) throw invalidField("length", `is beyond the log, which has ${newest.length} entries`);
    const field = id === undefined ? "from" : "id";
    if ((id ?? from!) > length) throw invalidField(field, `is beyond the length of ${length}`);
    const proof = await runWithCompleteTree(deps, async (reads) =>
      id === undefined ? proveConsistency(reads, from!, length) : proveInclusion(reads, id, length),
    );
    return answer({ ...proof, checkpoint: length === newest.length ? newest.note : null });
  },
);
