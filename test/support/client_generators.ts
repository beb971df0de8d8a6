/** Generators of clients, in 280 MB that only the test of the API's document needs. */
import { dirname, join } from "node:path";
import packageJson from "./client_generators/package.json" with { type: "json" };
import { fetchedFile } from "./fetched_package.ts";

/** The folder in which they are installed; rejects with the reason where they cannot be had. */
export async function clientGenerators(): Promise<string> {
  const locked = join(import.meta.dirname, "client_generators");
  const orval = await fetchedFile(locked, packageJson, "package.json", { name: "orval", optional: true });
  return join(dirname(orval), "../..");
}
