/** Product intents as files, without a service: tested by scenarios, and compared. */
import { about } from "../../about.ts";
import type { Verb } from "../verb.ts";

/** Plays scenarios under an intent. */
export const intentTest: Verb = {
  usage: "intent test <intent> <scenarios>",
  summary: "Play scenarios under an intent, on a service in memory",
  isLocal: true,
  plain: true,
  async run(_, { args: { intent = "", scenarios = "" } }) {
    // Other verbs need neither a service nor YAML.
    const { loadIntentFile } = await import("../../intent_file.ts");
    const { testIntent } = await import("../../scenarios/test_intent.ts");
    const { manifest } = await loadIntentFile(intent, intent);
    const { text, passed } = await about(scenarios, testIntent(manifest, scenarios));
    return { text, exit: passed ? "done" : "refused" };
  },
};
