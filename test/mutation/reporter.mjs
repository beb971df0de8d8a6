/** A reporter of Stryker that collects the result of each mutant, so that a run that is cut short has results too. */
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Results of the present run. */
export const results = [];

class Collector {
  onMutantTested(result) {
    results.push(result);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "collector", Collector)];
