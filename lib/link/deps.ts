import type { PulseDeps } from "../pulse/deps.ts";
import type { LinkPort } from "./port.ts";

/** What the link's endpoints need. */
export interface LinkDeps extends PulseDeps {
  /** Peers over the cross-host link. */
  link?: LinkPort | undefined;
}
