/** The binary of the DynamoDB emulator, which npm fetches at its first use, since only a few tests need its 7 MB. */
import { join } from "node:path";
import packageJson from "./dynamodb_emulator/package.json" with { type: "json" };
import { fetchedFile } from "./fetched_package.ts";

/** Returns the path of the binary; rejects with the reason where it is not available. */
export const emulatorBinary = (): Promise<string> =>
  fetchedFile(join(import.meta.dirname, "dynamodb_emulator"), packageJson, "dynoxide");
