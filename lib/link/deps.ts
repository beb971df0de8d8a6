import type { OperationsDeps } from "../operations/deps.ts";
import type { LinkPort } from "./port.ts";

/** Dependencies of the link's endpoints. */
export interface LinkDeps extends OperationsDeps {
  /** The link to peers; absent if it is not configured. */
  link?: LinkPort | undefined;
}
