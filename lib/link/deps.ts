import type { OperationsDeps } from "../operations/deps.ts";
import type { LinkPort } from "./port.ts";

/** Dependencies of the link's endpoints. */
export interface LinkDeps extends OperationsDeps {
  /** Peers over the cross-host link. */
  link?: LinkPort | undefined;
}
