import * as z from "zod";
import { readCheckpoint } from "../../lib/audit/checkpoint.ts";
import { hexBytes } from "../../lib/audit/merkle.ts";
import { packFiles } from "../../lib/changes/pack/files.ts";
import { PACK_STYLE, packPage } from "../../lib/changes/pack/page.ts";
import type { Scope } from "../../lib/changes/pack/scope.ts";
import { writeTar } from "../../lib/changes/pack/tar.ts";
import { findVisibleChange, createOwnReadsError } from "../../lib/changes/read_scope.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, time, word } from "../../lib/kit/fields.ts";
import { toBase64 } from "../../lib/kit/base64.ts";
import { streamLog, streamChunks } from "../../lib/http/read_stream.ts";
import { invalidField } from "../../lib/kit/errors.ts";
import type { OperationsDeps } from "../../lib/operations/deps.ts";

/** GET /api/product/pack: the evidence of one change or of a period for an auditor, as files or as a page to print. */
export const pack = endpoint(
  {
    method: "GET",
    path: "/api/product/pack",
    summary: "An auditor's pack of one change or of a period",
    operation: "getAuditPack",
    description: "Audit evidence of one change or of a period, as a tar file or a page to print.",
    example: { from: "2026-10-01T00:00:00Z", to: "2027-01-01T00:00:00Z" },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        change_id: changeId().optional().describe("Change of the pack; instead of from and to."),
        from: time().optional().describe("Start of the period."),
        to: time().optional().describe("End of the period, exclusive; absent: now."),
        format: word(["tar", "html"]).default("tar").describe("tar: files; html: a page that prints well."),
      }),
    output: () =>
      z.union([
        z.string().meta({
          contentMediaType: "application/x-tar",
          description: "Entries, contents, intents, certificates, a checkpoint, and a README.",
        }),
        z
          .string()
          .meta({ contentMediaType: "text/html", description: "With format=html: a page to read and to print." }),
      ]),
    errors: ["agent_may_not", "change_not_found", "evidence_mismatch", "chain_broken", "reads_busy"],
  },
  async ({ format, ...requestedScope }, { deps, request }: Call<OperationsDeps>) => {
    const scope = parseScope(requestedScope);
    if ("change_id" in scope) await findVisibleChange(deps, scope.change_id);
    else if (deps.reader) throw createOwnReadsError(deps.reader.name);
    // Reading the checkpoint first raises its errors before the first byte of the pack is sent.
    await readCheckpoint(deps);
    const createChunks = () =>
      format === "html" ? packPage(deps, scope) : writeTar(packFiles(deps, scope), deps.clock.now());
    // The pack of a period reads the complete log, which only one request at a time may do.
    const stream = "change_id" in scope ? streamChunks : streamLog;
    return new Response(request.method === "HEAD" ? null : stream(deps, createChunks), {
      headers: {
        ...(format === "html"
          ? {
              "content-type": "text/html; charset=utf-8",
              "content-security-policy": `default-src 'none'; style-src 'sha256-${toBase64(hexBytes(deps.sha256(PACK_STYLE)))}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
              "referrer-policy": "no-referrer",
            }
          : {
              "content-type": "application/x-tar",
              "content-disposition": 'attachment; filename="audit-pack.tar"',
            }),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    });
  },
);

function parseScope({
  change_id,
  from,
  to,
}: {
  change_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}): Scope {
  if (change_id !== undefined) {
    if (from !== undefined || to !== undefined)
      throw invalidField("change_id", "stands in place of from and to, not with them");
    return { change_id };
  }
  if (from === undefined) throw invalidField("from", "or change_id is required");
  if (to !== undefined && to <= from) throw invalidField("to", "must be after from");
  return { from, to };
}
