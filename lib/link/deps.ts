import type { OperationsDeps } from "../operations/deps.ts";
import type { LinkPort } from "./port.ts";

/** What the link's endpoints need. */
export interface LinkDeps extends OperationsDeps {
  /** Peers over the cross-host link. */
  link?: LinkPort | undefined;
}
