import type { GithubApp } from "./app.ts";

/** Characters of a webhook's secret: who guesses it decides which commit is judged. */
export const MIN_HOOK_SECRET_LENGTH = 16;

/** A gate whose deployments a GitHub App asks for. */
export interface GithubGate {
  /** Name of the target system. */
  name: string;
  /** Tenant of its releases. */
  tenant_id: string;
  /** Secret of the App's webhook. */
  secret: string;
  app: GithubApp;
}
