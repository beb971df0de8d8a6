/** Gates for the deployments of GitHub Apps. */
import type { GithubApp } from "./app.ts";

/** Least characters of a webhook's secret: anybody who guesses it can choose the commit that the gate decides on. */
export const MIN_HOOK_SECRET_LENGTH = 16;

/** A GitHub App whose deployments wait for the decision of a target system. */
export interface GithubGate {
  /** Name of the target system. */
  name: string;
  /** Tenant of its releases. */
  tenant_id: string;
  /** Secret of the App's webhook. */
  secret: string;
  app: GithubApp;
}
