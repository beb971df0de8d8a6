/** The statement of an act on the service itself, which a person signs as they sign a consent. */
import type { CommonFacts } from "./statement.ts";

/** Acts that can be signed. */
export const SERVICE_ACTIONS = ["freeze", "unfreeze", "accept_clock", "accept_loss", "erase", "feed_kpis"] as const;
export type ServiceAction = (typeof SERVICE_ACTIONS)[number];

/** The facts that the statement of an act states. */
export interface ServiceActionFacts extends CommonFacts {
  decision: ServiceAction;
  actor: string;
  /** End of a freeze that ends by itself. */
  until?: string | undefined;
  /** The end of the log that it goes on from, in an accepted loss. */
  length?: number | undefined;
  head?: string | undefined;
  /** Values of a feed, by KPI. */
  kpis?: Readonly<Record<string, number>> | undefined;
  /** The change whose content an erasure removes, and its digest. */
  change_id?: string | undefined;
  digest?: string | undefined;
}

/** Returns the name of the person that a statement is of. */
export const signerName = (facts: { approver: string } | Pick<ServiceActionFacts, "actor">): string =>
  "actor" in facts ? facts.actor : facts.approver;
