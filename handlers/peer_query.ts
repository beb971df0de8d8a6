import * as z from "zod";
import { endpoint } from "../lib/endpoint.ts";
import { invalidField } from "../lib/errors.ts";
import { line, parseInput, word } from "../lib/form.ts";
import { answer } from "../lib/http/answer.ts";
import { peerResultSchema, QUERIES } from "../lib/link/port.ts";

const question = z.strictObject({
  path: word(QUERIES),
  method: word(["GET"]).default("GET"),
  peer: line(300).optional(),
});

/** POST /api/peer/query?path=&method=: asks peers over the link; `path` never is an address to go to. */
export const peerQuery = endpoint(
  {
    method: "POST",
    path: "/api/peer/query",
    summary: "Ask peers",
    token: true,
    input: z.strictObject({ path: z.string().optional(), method: z.string().optional(), peer: z.string().optional() }),
    output: z.object({ results: z.array(peerResultSchema) }),
  },
  async (body, { deps: { link }, request }) => {
    const given: Record<string, string | undefined> = { ...body };
    for (const [name, value] of new URL(request.url).searchParams) {
      if (name in given) throw invalidField(name, "is given more than once");
      given[name] = value;
    }
    const { path, peer } = parseInput(question, given);
    const results = link ? await link.query(path, peer) : [];
    if (!results) throw invalidField("peer", "names no peer of this node; GET /api/peers lists them");
    return answer({ results });
  },
);
