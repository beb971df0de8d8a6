/** The capability map: abilities of this service, and for missing ones the reason and the option that enables them. */
import { readWitnessStates } from "../audit/request_cosignatures.ts";
import { readStatus } from "../projections/catch_up.ts";
import { PROJECTIONS } from "../projections/projector.ts";
import type { Projection } from "../projections/projection.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting } from "../projections/waiting.ts";
import type { Mismatches } from "../changes/ledger/scan_records.ts";
import { listKnownMismatches } from "../changes/integrity_scan.ts";
import type { StoreFaults } from "../store/faults.ts";
import type { Capability } from "./capability.ts";
import type { OperationsDeps } from "./deps.ts";

const NO_AGENTS = "the product intent names no agents, so it only reads";

/** Lists the capabilities of the service, then those of the host, which replace those of the service with the same id. */
export async function listCapabilities(
  deps: OperationsDeps & { adminToken?: string | undefined; agents?: readonly object[] | undefined },
): Promise<Capability[]> {
  const {
    store,
    product,
    integrity,
    adminToken,
    agents = [],
    evolved,
    notifier,
    auditExport,
    github,
    link,
    watch,
    capabilities = [],
  } = deps;
  const off = product ? null : "no product intent is given";
  const intent = "--product-intent PATH";
  const systems = product?.adapter
    ? (product.adapter.systems ?? [{ name: product.adapter.name, adapter: product.adapter }])
    : [];
  const [single] = systems.length === 1 ? systems : [];
  // One of several systems is reported by its `target:<name>` alone; a projection that cannot be read, by its own capability.
  const failure = single && (await readProjection(deps, waiting).catch(() => undefined))?.state.adapter_error;
  const problem = (await single?.adapter.findProblem?.()) ?? null;
  const own = [
    optionalCapability("product_runtime", "product", off, intent),
    product?.adapter
      ? enabledCapability("product_adapter", "product", problem ?? failure ?? null)
      : optionalCapability(
          "product_adapter",
          "product",
          "approved changes are recorded and not carried anywhere",
          "--targets FILE, --product-config PATH, or --product-adapter URL",
        ),
    ...(await Promise.all(
      systems.map(async ({ name, adapter }) =>
        enabledCapability(`target:${name}`, "product", (await adapter.findProblem?.()) ?? null),
      ),
    )),
    chainCapability(integrity, optionalCapability("audit_chain", "audit", off, intent)),
    await anchorCapability(deps),
    await witnessCapability(deps),
    watch
      ? enabledCapability("witness", "audit", null)
      : optionalCapability(
          "witness",
          "audit",
          "not configured",
          "--witness-for FILE --witness-key PATH --witness-name NAME",
        ),
    optionalCapability("admin_token", "access", adminToken ? null : "writes need no token", "SVC_ADMIN_TOKEN"),
    product
      ? optionalCapability(
          "mcp",
          "access",
          agents.length > 0 ? null : NO_AGENTS,
          "an agent among the intent's principals",
        )
      : optionalCapability("mcp", "access", off, intent),
    optionalCapability("evolved_files", "learning", evolved ? null : "this host keeps no files", "--evolved-dir DIR"),
    notifier
      ? enabledCapability("notifications", "host", notifier.problem())
      : optionalCapability("notifications", "host", "not configured", "--notify-url URL"),
    auditExport
      ? enabledCapability("audit_otlp", "audit", auditExport.problem())
      : optionalCapability("audit_otlp", "audit", "not configured", "--audit-otlp URL"),
    ...(github ? [enabledCapability("github_gate", "product", github.problem())] : []),
    ...storeCapabilities(store.faults?.()),
    ...(link ? [link.capability()] : []),
    ...(await Promise.all(PROJECTIONS.map((projection) => projectionCapability(deps, projection, off)))),
  ];
  const all = [...own.filter(({ id }) => !capabilities.some((added) => added.id === id)), ...capabilities];
  // The host reports how it is configured; a failure at run time replaces its row.
  const overriding = [
    ...(problem !== null ? [enabledCapability(`${product!.adapter!.name}_adapter`, "product", problem)] : []),
    ...llmProblems(deps),
    // Another process signs the checkpoints with another key.
    ...(integrity.displaced ? [degradedCapability("audit_key", "audit", integrity.displaced)] : []),
  ];
  return [...all.filter(({ id }) => !overriding.some((added) => added.id === id)), ...overriding];
}

/** Reports a breach of the chain, or records that do not match it; `valid` if there are none. */
function chainCapability(integrity: OperationsDeps["integrity"], valid: Capability): Capability {
  const { breach } = integrity;
  if (breach) return enabledCapability("audit_chain", "audit", `entry ${breach.first_invalid}: ${breach.reason}`);
  const mismatches = listKnownMismatches(integrity);
  if (mismatches.size === 0) return valid;
  const reason = `${nameMismatches(mismatches)}; run-now action=rebuild rebuilds them from the log`;
  return degradedCapability("audit_chain", "audit", reason);
}

async function anchorCapability({ store, anchor, integrity }: OperationsDeps): Promise<Capability> {
  if (!anchor) return optionalCapability("audit_anchor", "audit", "not configured", "--audit-anchor FILE-or-URL");
  if (integrity.anchor) return degradedCapability("audit_anchor", "audit", integrity.anchor.reason);
  const failure = (await store.get("meta", "anchor"))?.value.last_error;
  return enabledCapability("audit_anchor", "audit", failure ?? null);
}

function llmProblems({ llm }: OperationsDeps): Capability[] {
  const problem = llm?.problem?.() ?? null;
  if (problem !== null) return [enabledCapability("llm", "chat", problem)];
  // The limit on calls that is used up, in words.
  const limit = llm?.usage?.().spent ?? null;
  if (limit === null) return [];
  return [degradedCapability("llm", "chat", `${limit}; until then the built-in responder answers`)];
}

const MAX_NAMED = 3;

/** Names the changes that are known not to match the log. */
function nameMismatches(mismatches: Mismatches): string {
  const first = [...mismatches].slice(0, MAX_NAMED).map(([id, fields]) => `${id} (${fields.join(", ")})`);
  const more = mismatches.size > MAX_NAMED ? ` and ${mismatches.size - MAX_NAMED} more` : "";
  return `records that do not match the log: ${first.join("; ")}${more}`;
}

/** Capability of cosigning by all witnesses; a witness that contradicts the log is worse than a silent one. */
async function witnessCapability(deps: OperationsDeps): Promise<Capability> {
  const [id, group] = ["audit_witness", "audit"];
  if (!deps.witnesses?.length)
    return optionalCapability(
      id,
      group,
      "not configured",
      "--audit-witness URL,… --audit-witness-key KEY,… --audit-key PATH",
    );
  const problems = (await readWitnessStates(deps)).filter(({ state }) => state.problem !== null);
  const worst = problems.find(({ state }) => state.refused) ?? problems[0];
  if (!worst) return enabledCapability(id, group, null);
  const reason = `${worst.witness.key.name}: ${worst.state.problem}`;
  return worst.state.refused ? enabledCapability(id, group, reason) : degradedCapability(id, group, reason);
}

/** Reports the files of the store, and the removal of superseded records from them. */
function storeCapabilities(faults: StoreFaults | undefined): Capability[] {
  if (!faults) return [];
  const { damaged, compaction } = faults;
  const damage = damaged.map(({ reason, holds }) => `${reason} It holds ${holds}.`).join(" ");
  const failed = compaction && `erased and superseded records are not removed from the files: ${compaction}`;
  return [
    enabledCapability("store_files", "host", damage || null),
    enabledCapability("store_compaction", "host", failed),
  ];
}

/** Entries by which a projection may be behind between commits. */
const MAX_BEHIND = 1000;

/** Reports a projection; one that is far behind shows old figures. */
async function projectionCapability(
  deps: OperationsDeps,
  projection: Projection,
  off: string | null,
): Promise<Capability> {
  const id = `follow_${projection.name}`;
  if (off !== null) return optionalCapability(id, "follow", off, "--product-intent PATH");
  const { behind, problem } = await readStatus(deps, projection);
  if (problem !== null || behind <= MAX_BEHIND) return enabledCapability(id, "follow", problem);
  const reason = `it is ${behind} entries behind the log; what is shown is as of then`;
  return degradedCapability(id, "follow", reason);
}

/** Builds a capability that is available, or disabled for a reason until an option enables it. */
const optionalCapability = (id: string, group: string, reason: string | null, enable_with: string): Capability =>
  reason === null
    ? { id, group, status: "available", reason, enable_with: null }
    : { id, group, status: "disabled", reason, enable_with };

/** Builds a capability that is enabled, and available or failing. */
const enabledCapability = (id: string, group: string, problem: string | null): Capability => ({
  id,
  group,
  status: problem === null ? "available" : "failing",
  reason: problem,
  enable_with: null,
});

/** Builds a capability that is enabled and limited. */
const degradedCapability = (id: string, group: string, reason: string): Capability => ({
  ...enabledCapability(id, group, reason),
  status: "degraded",
});
