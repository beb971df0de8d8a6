/** Requirements for running each document in addition to a checkout. */
import type { Stage, Story } from "../story.ts";
import { clientManual } from "./client.ts";
import { agents } from "./agents.ts";
import { identity } from "./identity.ts";
import { gates } from "./gates.ts";
import { lambda } from "./lambda.ts";
import { link, linkProtocol } from "./link.ts";
import { mounting } from "./mounting.ts";
import { operating } from "./operating.ts";
import { principals } from "./principals.ts";
import { auditLog, intentFields, plans, promotion, values } from "./reference.ts";
import { shop } from "./shop.ts";
import { stores } from "./stores.ts";
import { targets } from "./targets.ts";
import { webhookAdapter } from "./webhook_adapter.ts";
import { notifications } from "./notifications.ts";
import { workers } from "./workers.ts";

/** Requirements of one document. */
export interface Requirements {
  /** Programs that must be installed in addition to those of npm; default: curl. */
  needs?: string[];
  /** The document is run with the long tests. */
  long?: boolean;
  /** Prepares the document before its first block; returns undefined, after printing the reason, if that is impossible here. */
  stage?(): Promise<Stage | undefined> | Stage;
  /** Declares further tests of what the document has set up. */
  afterwards?(story: () => Story): void;
}

export const stages: Record<string, Requirements> = {
  "docs/cli.md": { needs: ["curl", "ssh-keygen"], long: true },
  "docs/client.md": { ...clientManual, long: true },
  "docs/consent.md": { needs: ["curl", "ssh-keygen"], long: true },
  "docs/agents.md": { ...agents, long: true },
  "docs/operating.md": { ...operating, long: true },
  "docs/principals.md": { ...principals, long: true },
  "docs/identity.md": identity,
  "docs/evidence.md": { needs: ["curl", "openssl", "python3"], long: true },
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
  "docs/writing_a_target_system.md": { needs: [], long: true },
  "docs/writing_an_adapter.md": { long: true },
  "examples/shop/README.md": { ...shop, long: true },
};
