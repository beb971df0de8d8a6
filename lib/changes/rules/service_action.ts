/** The statement that a person signs for an action on the service itself, such as a freeze. */
import type { CommonFacts } from "./statement.ts";

/** Actions on the service that a person can sign. */
export const SERVICE_ACTIONS = ["freeze", "unfreeze", "accept_clock", "accept_loss", "erase", "feed_kpis"] as const;
export type ServiceAction = (typeof SERVICE_ACTIONS)[number];

/** The facts in the statement of such an action. */
export interface ServiceActionFacts extends CommonFacts {
  decision: ServiceAction;
  actor: string;
  /** RFC 3339: when a freeze ends by itself. */
  until?: string | undefined;
  /** Length of the log from which the service continues after an accepted loss. */
  length?: number | undefined;
  head?: string | undefined;
  /** Values of a feed, by KPI. */
  kpis?: Readonly<Record<string, number>> | undefined;
  /** The change whose content an erasure removes, and its digest. */
  change_id?: string | undefined;
  digest?: string | undefined;
}

/** Returns the name of the person who signs a statement. */
export const signerName = (facts: { approver: string } | Pick<ServiceActionFacts, "actor">): string =>
  "actor" in facts ? facts.actor : facts.approver;
