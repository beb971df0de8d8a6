/** A reporter of Stryker that collects the result of each mutant and prints the mutants that no test detected. */
import { relative } from "node:path";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Results of the present run. */
export const results = [];

class Collector {
  onMutantTested(result) {
    results.push(result);
    const { fileName, location, status, mutatorName, replacement } = result;
    if (status !== "Survived" && status !== "NoCoverage") return;
    const position = `${relative(process.cwd(), fileName)}:${location.start.line}:${location.start.column}`;
    process.stdout.write(`${status} ${position} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 100)}\n`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "collector", Collector)];
