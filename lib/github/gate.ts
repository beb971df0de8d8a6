import type { GithubApp } from "./app.ts";

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
