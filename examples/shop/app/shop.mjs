/** The shop: prints what a customer sees now. It reads flagd's file and its own repository, never the service. */
import { readFile } from "node:fs/promises";
import { FlagdCore } from "@openfeature/flagd-core";

const read = (path) => readFile(new URL(path, import.meta.url), "utf8");

const flags = new FlagdCore();
flags.setConfigurations(await read("../flags.flagd.json"));
const { value: isNew } = flags.resolveBooleanEvaluation("new-checkout", false, { targetingKey: "customer-1" });
const { free_from } = JSON.parse(await read("config/shipping.json"));

console.log("Tea for everybody");
console.log(`checkout: ${isNew ? "one page" : "three pages"}`);
console.log(`shipping: free from ${free_from} francs`);
