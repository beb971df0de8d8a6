/** Node 24, next to the one that runs the tests: 50 MB that only the test of the package needs. */
import { join } from "node:path";
import { fetchedFile } from "./fetched_package.ts";
import packageJson from "./node_24/package.json" with { type: "json" };

/** Returns the path of the binary; rejects with the reason where it is not available. */
export const node24 = (): Promise<string> => fetchedFile(join(import.meta.dirname, "node_24"), packageJson, "bin/node");
