/**
 * Lists the setups of documents that are run with the long tests, or need more than a checkout and curl: programs, servers, checks
 * of their examples.
 */
import type { RunEnvironment, DocumentRun } from "../document_run.ts";
import { clientManual } from "./client.ts";
import { agents } from "./agents.ts";
import { identity } from "./identity.ts";
import { gates } from "./gates.ts";
import { lambda } from "./lambda.ts";
import { link, linkProtocol } from "./link.ts";
import { mounting } from "./mounting.ts";
import { operating } from "./operating.ts";
import { auditLog, intentFields, plans, promotion, values } from "./reference.ts";
import { shop } from "./shop.ts";
import { stores } from "./stores.ts";
import { targets } from "./targets.ts";
import { webhookAdapter } from "./webhook_adapter.ts";
import { notifications } from "./notifications.ts";
import { workers } from "./workers.ts";

/** Setup of one document, which test/docs/documents.test.ts runs. */
export interface DocumentSetup {
  /** Programs that must be installed in addition to those of npm; default: curl. */
  programs?: string[];
  /** The document is run with the long tests. */
  long?: boolean;
  /** Runs before the first block. Returns undefined, after printing the reason, if the document cannot be run on this machine. */
  prepare?(): Promise<RunEnvironment | undefined> | RunEnvironment;
  /** Declares tests that run after the last block. */
  declareTests?(documentRun: () => DocumentRun): void;
}

export const setups: Record<string, DocumentSetup> = {
  "docs/cli.md": { programs: ["curl", "ssh-keygen"], long: true },
  "docs/client.md": { ...clientManual, long: true },
  "docs/consent.md": { programs: ["curl", "ssh-keygen"], long: true },
  "docs/agents.md": { ...agents, long: true },
  "docs/operating.md": { ...operating, long: true },
  "docs/principals.md": { programs: ["curl", "openssl"], long: true },
  "docs/identity.md": identity,
  "docs/evidence.md": { programs: ["curl", "openssl", "python3"], long: true },
  "docs/lambda.md": { ...lambda, long: true },
  "docs/link.md": { ...link, long: true },
  "lib/link/README.md": { ...linkProtocol, long: true },
  "docs/values.md": { ...values, long: true },
  "docs/mounting.md": { ...mounting, long: true },
  "docs/stores.md": { ...stores, long: true },
  "docs/webhook_adapter.md": { ...webhookAdapter, long: true },
  "docs/notifications.md": { ...notifications, long: true },
  "docs/workers.md": { ...workers, long: true },
  "docs/audit_log.md": { ...auditLog, long: true },
  "docs/errors.md": { long: true },
  "docs/gates.md": { ...gates, long: true },
  "docs/intent.md": { ...intentFields, long: true },
  "docs/product_config.md": { long: true },
  "docs/plans.md": plans,
  "docs/promotion.md": promotion,
  "docs/targets.md": targets,
  "docs/targets/etcd.md": targets,
  "docs/targets/gate.md": targets,
  "docs/targets/postgres.md": targets,
  "docs/targets/unleash.md": targets,
  "docs/testing.md": { long: true },
  "docs/writing_a_store.md": { long: true },
  "docs/writing_a_target_system.md": { programs: [], long: true },
  "docs/writing_an_adapter.md": { long: true },
  "examples/shop/README.md": { ...shop, long: true },
};
