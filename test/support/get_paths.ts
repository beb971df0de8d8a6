/** Paths for tests that send a request to every GET endpoint. */
import { endpoints } from "../../handlers/index.ts";

/** Queries of the GET endpoints that require one. */
const QUERY: Record<string, string> = {
  "/api/gate": `?target=deploy/42/production&tenant_id=t1&head=${"a".repeat(40)}`,
  "/api/memory/search": "?q=banner",
  "/api/product/audit/proof": "?id=1",
  "/api/product/policy": "?target=ui.banner&tenant_id=t1",
  "/api/product/pack": "?from=2026-01-01T00:00:00Z",
};
/** Endpoints whose responses are endless streams. */
const STREAMS = ["/api/events"];

/** Exists only after a watched log was cosigned; tested in test/lib/audit/witness_service.test.ts. */
const WATCHED_LOG = "/:origin_hash/checkpoint";

/** Exists only with a signing key; tested in test/lib/changes/gate/attest.test.ts. */
const ATTESTATION = "/api/product/changes/:change_id/attestation";

/** Exists only after a mandate was drafted; tested in test/lib/changes/mandates. */
const MANDATE = "/api/product/mandates/:mandate_id";

const NEEDS_STATE = [WATCHED_LOG, ATTESTATION, MANDATE];

/**
 * Paths of all GET endpoints that a new service answers, except streams. `CHANGE` stands for the id of a change, `FILE` for the
 * name of a missing file.
 */
export const GET_PATHS: string[] = endpoints
  .filter(({ method, path }) => method === "GET" && !STREAMS.includes(path) && !NEEDS_STATE.includes(path))
  .map(({ path }) => path.replace(":change_id", "CHANGE").replace(":file", "FILE.md") + (QUERY[path] ?? ""));
