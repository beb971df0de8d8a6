/** The HTTP contract: one suite for every host of the handlers, which it calls through `fetch`. */
import { afterAll, afterEach, describe, onTestFinished } from "vitest";
import { checkedFetch } from "../support/checked_fetch.ts";
import { type Client, client, type Fetch } from "../support/client.ts";
import type { Manifest } from "../support/intents.ts";
import { FULL } from "../support/run_length.ts";
import { accessRules } from "./http/access.ts";
import { auditRules } from "./http/audit.ts";
import { bodyRules } from "./http/bodies.ts";
import { conflictRules } from "./http/conflicts.ts";
import { consentRules } from "./http/consent.ts";
import { endpointRules } from "./http/endpoints.ts";
import { errorRules } from "./http/errors.ts";
import { fieldRules } from "./http/fields.ts";
import { identityRules } from "./http/identity.ts";
import { idempotencyRules } from "./http/idempotency.ts";
import { kpiRules } from "./http/kpi.ts";
import { lifecycleRules } from "./http/lifecycle.ts";
import { mcpRules } from "./http/mcp.ts";
import { noteRules } from "./http/notes.ts";
import { outcomeRules } from "./http/outcomes.ts";
import { preconditionRules } from "./http/preconditions.ts";
import { serviceRules } from "./http/service.ts";
import { streamRules } from "./http/streams.ts";
import { tierRules } from "./http/tiers.ts";
import { transitionRules } from "./http/transitions.ts";
import { valueRules } from "./http/values.ts";
import { viewRules } from "./http/views.ts";

/** Options of a service under test: members of its intent (`null`: no intent) and access rules. */
export interface ContractOptions {
  intent?: Manifest | null;
  adminToken?: string;
  identityHeader?: string;
  /** Content of the file of `--identity-jwt`. */
  identityJwt?: string;
  allowedHosts?: string[];
}

/** A started service, with an empty store and without an adapter. */
export interface ContractService {
  /** The service's address for clients, with its mount path and without a final slash. */
  origin: string;
  fetch: Fetch;
  /** Moves the service's clock, in milliseconds. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export type Make = (options: ContractOptions) => Promise<ContractService>;

/** Opens a service, which is closed at the end of the test, and returns a client of it. */
export type Open = (options?: ContractOptions) => Promise<Client & { fetch: Fetch; advance(ms: number): void }>;

const SECTIONS = {
  lifecycle: lifecycleRules,
  transitions: transitionRules,
  endpoints: endpointRules,
  errors: errorRules,
  bodies: bodyRules,
  fields: fieldRules,
  access: accessRules,
  identity: identityRules,
  preconditions: preconditionRules,
  idempotency: idempotencyRules,
  tiers: tierRules,
  consent: consentRules,
  conflicts: conflictRules,
  kpi: kpiRules,
  outcomes: outcomeRules,
  notes: noteRules,
  mcp: mcpRules,
  audit: auditRules,
  views: viewRules,
  values: valueRules,
  service: serviceRules,
  streams: streamRules,
} satisfies Record<string, (open: Open) => void>;

export type Section = keyof typeof SECTIONS;

/** All sections except `streams`, which needs a real address. */
export const ALL = (Object.keys(SECTIONS) as Section[]).filter((section) => section !== "streams");

/** The sections that a host can break, since it passes on bodies, headers, paths and responses. */
export const OF_A_HOST: readonly Section[] = [
  "lifecycle",
  "errors",
  "bodies",
  "access",
  "identity",
  "preconditions",
  "values",
  "mcp",
];

/** The sections that a web framework in front of the handlers can break; the short run omits some of them. */
export const OF_A_FRAMEWORK: readonly Section[] = FULL
  ? [...OF_A_HOST, "streams"]
  : ["lifecycle", "bodies", "access", "streams"];

/** Runs sections of the contract on services that `make` starts, and prints how many cases pass. */
export function httpContract(name: string, sections: readonly Section[], make: Make): void {
  const open: Open = async (options = {}) => {
    const { fetch, origin, advance, close } = await make(options);
    onTestFinished(close);
    const secrets = options.adminToken ? [options.adminToken] : [];
    const base = new URL(origin).pathname.replace(/\/$/, "");
    const checkingFetch = checkedFetch(fetch, secrets, base);
    return { ...client(checkingFetch, origin), fetch: checkingFetch, advance };
  };
  describe(name, () => {
    let [passed, cases] = [0, 0];
    afterEach(({ task }) => {
      cases++;
      if (task.result?.state === "pass") passed++;
    });
    afterAll(() => void process.stdout.write(`HTTP contract on ${name}: ${passed} of ${cases} cases pass\n`));
    for (const title of sections) describe(title, () => SECTIONS[title](open));
  });
}
