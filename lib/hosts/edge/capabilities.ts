/** What a Worker can do, and why it cannot do the rest. */
import type { Capability } from "../../pulse/capability.ts";

/** What the capabilities of a Worker depend on. */
export interface EdgeAbilities {
  adapter: boolean;
  /** The console's files are bound to the Worker. */
  console: boolean;
  identityHeader: boolean;
  auditKey: boolean;
}

/** The host's part of the capability map. */
export function capabilitiesOf({ adapter, console, identityHeader, auditKey }: EdgeAbilities): Capability[] {
  const row = (id: string, group: string, reason: string | null, enable_with: string | null): Capability =>
    reason === null
      ? { id, group, status: "available", reason, enable_with: null }
      : { id, group, status: "disabled", reason, enable_with };
  const absent = (id: string, group: string, reason: string): Capability => row(id, group, reason, null);

  return [
    // Where there is one, the service itself tells how it fares.
    ...(adapter
      ? []
      : [
          row(
            "product_adapter",
            "product",
            "approved changes are recorded and not carried anywhere",
            "SVC_PRODUCT_ADAPTER",
          ),
        ]),
    row("ui", "host", console ? null : "no assets are bound", "assets binding ASSETS"),
    row("cycle_timer", "host", null, "cron trigger"),
    absent("process_metrics", "host", "a Worker has no figures of a process; those of the product are there"),
    absent("notifications", "host", "a Worker sends none; /api/events tells what happens"),
    row(
      "proxy_identity",
      "access",
      identityHeader ? null : "names are taken as requests give them",
      "SVC_IDENTITY_HEADER",
    ),
    absent("cross_link", "link", "a Worker accepts no TCP connections"),
    absent("llm", "chat", "the built-in responder answers on this host"),
    absent("evolved_files", "learning", "this host keeps no files"),
    row("audit_key", "audit", auditKey ? null : "not configured", "SVC_AUDIT_KEY_PEM"),
    absent("audit_anchor", "audit", "this host has none; fetch checkpoints and keep them elsewhere"),
  ];
}
