/** A reporter of Stryker that collects the result of each mutant and writes those that no test noticed. */
import { relative } from "node:path";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Results of the present run. */
export const results = [];

class Collector {
  onMutantTested(result) {
    results.push(result);
    const { fileName, location, status, mutatorName, replacement } = result;
    if (status !== "Survived" && status !== "NoCoverage") return;
    const place = `${relative(process.cwd(), fileName)}:${location.start.line}:${location.start.column}`;
    process.stdout.write(`${status} ${place} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 100)}\n`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "collector", Collector)];
