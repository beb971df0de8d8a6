/** Dependencies of the link's endpoints. */
import type { OperationsDeps } from "../operations/deps.ts";
import type { LinkPort } from "./port.ts";

export interface LinkDeps extends OperationsDeps {
  /** The link to peers; absent if it is not configured. */
  link?: LinkPort | undefined;
}
