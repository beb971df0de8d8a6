import { endpoints } from "../../handlers/index.ts";

/** Required query of each GET. */
const QUERY: Record<string, string> = {
  "/api/gate": `?target=deploy/42/production&tenant_id=t1&head=${"a".repeat(40)}`,
  "/api/memory/search": "?q=banner",
  "/api/product/audit/proof": "?id=1",
  "/api/product/policy": "?target=ui.banner&tenant_id=t1",
  "/api/product/pack": "?from=2026-01-01T00:00:00Z",
};
/** Answers that go on for as long as somebody listens. */
const STREAMS = ["/api/events"];

/** Is there only once a log that is watched was cosigned; test/lib/audit/witness_service.test.ts asks for it. */
const WATCHED = "/:origin_hash/checkpoint";

/** Is there only with a key; test/lib/changes/gate/attest.test.ts asks for it. */
const ATTESTED = "/api/product/changes/:change_id/attestation";

/** Is there only once a mandate was drafted; test/lib/changes/mandates asks for it. */
const MANDATE = "/api/product/mandates/:mandate_id";

const ABSENT = [WATCHED, ATTESTED, MANDATE];

/**
 * Every GET whose answer ends and is there; `CHANGE` stands for a change's id, `FILE` for the name of a file that is not there.
 */
export const READS: string[] = endpoints
  .filter(({ method, path }) => method === "GET" && !STREAMS.includes(path) && !ABSENT.includes(path))
  .map(({ path }) => path.replace(":change_id", "CHANGE").replace(":file", "FILE.md") + (QUERY[path] ?? ""));
