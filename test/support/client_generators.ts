/** Generators of API clients: 280 MB that only the test of the OpenAPI document needs. */
import { dirname, join } from "node:path";
import packageJson from "./client_generators/package.json" with { type: "json" };
import { fetchedFile } from "./fetched_package.ts";

/** Returns the folder in which the generators are installed; rejects with the reason where they are not available. */
export async function clientGenerators(): Promise<string> {
  const locked = join(import.meta.dirname, "client_generators");
  const orval = await fetchedFile(locked, packageJson, "package.json", { name: "orval", optional: true });
  return join(dirname(orval), "../..");
}
