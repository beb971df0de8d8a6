/** Purposes of the rooms of lib in order, for the table of docs/architecture.md, which test/docs/field_tables.test.ts generates. */
export const ROOM_PURPOSES: Readonly<Record<string, string>> = {
  "lib/kit": "clock, ids, errors, encodings, strict and canonical JSON, time limits",
  "lib/identity": "tokens (JWT) of proxies and CI systems, and the keys of their issuers",
  "lib/github": "a GitHub App: its tokens, requests to the API, signed deliveries",
  "lib/store":
    "the port, `lib/store/schema.ts` (all collections), the engines for memory, Postgres, DynamoDB and Durable Objects",
  "lib/audit": "the log as a library: entry, chain, verification, log index, checkpoint, anchor, witness",
  "lib/llm": "the port to a language model, and its providers",
  "lib/rollout": "the statistics of rollouts in steps: the rule `cs1`",
  "lib/changes/rules": "the pure rules of a change: `decide`, `evolve`, intent, policy, statement",
  "lib/wording": "`describe(entry, change)`: the only description of events in words",
  "lib/changes/proofs": "verification of WebAuthn and SSHSIG signatures",
  "lib/changes":
    "the core: `commands/` (one file for each command), `operations/` (lease, run, resolve, dry run), `mandates/`, `rollouts/`, certificates, packs, drift, erasure, integrity scan",
  "lib/targets": "one generic adapter over the `TargetSystem` port; the webhook adapter",
  "lib/projections":
    "data that is derived from the log and decides nothing: waiting, counts, outcomes, values, activity, memories",
  "lib/memory": "lexical search",
  "lib/find": "the query language",
  "lib/operations": "the cycle, tasks, metrics, notifications, reports, `/api/state`",
  "lib/http": "endpoint, router, forms, guards, principals, idempotency, errors as answers",
  "lib/chat": "answers from records and by a language model",
  "lib/link": "peers over an authenticated connection",
  "lib/openapi": "the description of the API, made from the declarations of endpoints",
  "lib/client": "the typed client",
  "lib/mcp": "the tools for agents",
  "lib/deps.ts": "the dependencies that handlers receive",
  "lib/service.ts": "`openService({ store, intent, … })`: composes the rooms",
  "lib/hosts": "Lambda and Workers",
};
