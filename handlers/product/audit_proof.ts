import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { currentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { proveConsistency, proveInclusion, withWholeTree } from "../../lib/audit/prove.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { invalidField } from "../../lib/kit/errors.ts";
import { wholeNumber } from "../../lib/http/form.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/audit/proof: `id` asks for the proof that an entry is in the log, `from` that the log continues itself. */
export const auditProof = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/proof",
    summary: "Inclusion or consistency proof of the audit log",
    product: true,
    input: z.object({
      id: wholeNumber(1).optional(),
      from: wholeNumber(1).optional(),
      length: wholeNumber(1).optional(),
    }),
    output: z.object({
      kind: z.enum(["inclusion", "consistency"]),
      /** Of an inclusion proof: the entry and its `current_hash`, the leaf of the tree. */
      id: z.number().int().optional(),
      leaf: z.string().optional(),
      /** Of a consistency proof: the earlier length and its root. */
      from: z.number().int().optional(),
      from_root: z.string().optional(),
      length: z.number().int(),
      /** Roots and proof hashes are base64, as in a checkpoint. */
      root: z.string(),
      proof: z.array(z.string()),
      /** The checkpoint of `length`, `null` when the newest is of another length. */
      checkpoint: z.string().nullable(),
    }),
  },
  async ({ id, from, length: asked }, { deps }: Call<GovernanceDeps>) => {
    if ((id === undefined) === (from === undefined))
      throw invalidField("id", "or from is required, and not both: id for inclusion, from for consistency");
    const newest = await currentCheckpoint(deps);
    const length = asked ?? newest.length;
    if (length > newest.length) throw invalidField("length", `is beyond the log, which has ${newest.length} entries`);
    const field = id === undefined ? "from" : "id";
    if ((id ?? from!) > length) throw invalidField(field, `is beyond the length of ${length}`);
    const proved = await withWholeTree(deps, async () =>
      id === undefined ? proveConsistency(deps, from!, length) : proveInclusion(deps, id, length),
    );
    return answer({ ...proved, checkpoint: length === newest.length ? newest.note : null });
  },
);
