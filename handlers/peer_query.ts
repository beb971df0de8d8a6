import * as z from "zod";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { invalidField } from "../lib/kit/errors.ts";
import { parseInput } from "../lib/http/form.ts";
import { line, word } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import type { LinkDeps } from "../lib/link/deps.ts";
import { peerResultSchema, QUERIES } from "../lib/link/port.ts";

const question = z.strictObject({
  path: word(QUERIES),
  method: word(["GET"]).default("GET"),
  peer: line(300).optional(),
});

/** Each field may be in the address or in the body; the handler merges both and validates the fields. */
const inAddress = { in: "query" };
const querySchema = z.strictObject({
  path: z
    .unknown()
    .optional()
    .meta({
      ...inAddress,
      type: "string",
      enum: [...QUERIES],
      needed: true,
      description: "A path to read at the peer, or the name of a message.",
    }),
  method: z
    .unknown()
    .optional()
    .meta({
      ...inAddress,
      type: "string",
      enum: ["GET"],
      default: "GET",
      description: "The only method: peers are only read.",
    }),
  peer: z
    .unknown()
    .optional()
    .meta({
      ...inAddress,
      type: "string",
      maxLength: 300,
      description: "peer_id or address of one peer; absent: all peers.",
    }),
});

/** POST /api/peer/query?path=&method=: queries peers over the link; `path` is never used as a URL. */
export const peerQuery = endpoint(
  {
    method: "POST",
    path: "/api/peer/query",
    summary: "Ask peers",
    operation: "queryPeers",
    description: "Sends a read-only request to one peer or to all.",
    example: { path: "/api/state" },
    token: true,
    fieldsInQuery: true,
    input: querySchema,
    output: z.object({ results: z.array(peerResultSchema()).describe("An answer for each peer.") }),
  },
  async (body, { deps: { link }, request }: Call<LinkDeps>) => {
    const fields: Record<string, unknown> = { ...body };
    for (const [name, value] of new URL(request.url).searchParams) {
      if (name in fields) throw invalidField(name, "is given more than once");
      fields[name] = value;
    }
    const { path, peer } = parseInput(question, fields);
    const results = link ? await link.query(path, peer) : [];
    if (!results) throw invalidField("peer", "names no peer of this node; GET /api/peers lists them");
    return answer({ results });
  },
);
