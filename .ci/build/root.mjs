import { join } from "node:path";

/** The folder of the checkout. */
export const root = join(import.meta.dirname, "../..");
