/** Implements ports of the library with modules of Node. */
import { hash } from "node:crypto";
import type { Sha256 } from "../lib/kit/platform.ts";

/** Hashes in one call, which for short records is twice as fast as `createHash`. */
export const sha256: Sha256 = (data) => hash("sha256", data, "hex");
