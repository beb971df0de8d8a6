/** Verbs that test and compare files of intents, without a service. */
import { prefixErrors } from "../../prefix_errors.ts";
import type { LoadedIntent } from "../../../lib/changes/rules/intent.ts";
import { escapeInvisible } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Plays scenarios under an intent. */
export const intentTest: Verb = {
  usage: "intent test <intent> <scenarios>",
  summary: "Play scenarios under an intent, on a service in memory",
  isLocal: true,
  plain: true,
  async run(_, { args: { intent = "", scenarios = "" } }) {
    // Imported only here, since other verbs need neither a service nor YAML.
    const { loadIntentFile } = await import("../../intent_file.ts");
    const { testIntent } = await import("../../scenarios/test_intent.ts");
    const { manifest } = await loadIntentFile(intent, intent).catch((error: Error) => {
      // A file of scenarios (YAML) in place of the intent: the arguments may be in the wrong order.
      if (!error.message.includes("is not valid JSON")) throw error;
      throw new Error(`${error.message}; expected INTENT then SCENARIOS`, { cause: error });
    });
    const { text, passed } = await prefixErrors(scenarios, testIntent(manifest, scenarios));
    return { text, exit: passed ? "done" : "refused" };
  },
};

/** Compares two intents by their effects. */
export const intentDiff: Verb = {
  usage: "intent diff <old> <new>",
  summary: "Compare what the old and the new intent allow",
  isLocal: true,
  async run(_, { args }) {
    const { loadIntentFile } = await import("../../intent_file.ts");
    const { diffIntents } = await import("../../intent_diff/diff.ts");
    const [old, next] = await Promise.all(
      ["old", "new"].map((name) => loadIntentFile(args[name] ?? "", args[name] ?? "")),
    );
    const differences = diffIntents(old!.intent, next!.intent);
    // An intent that allows more ends with code 1, so that a script can stop there.
    const isWider = differences.some(({ effect }) => effect === "wider");
    return {
      text: differences.length === 0 ? "both intents allow the same" : differences.map(formatDifference).join("\n"),
      json: {
        old: describeIdentity(old!),
        new: describeIdentity(next!),
        differences: differences.map(({ effect, field, text }) => ({ effect, field, text })),
      },
      exit: isWider ? "refused" : "done",
    };
  },
};

const SIGNS = { wider: "+", narrower: "-", other: "~" };

const formatDifference = ({ effect, text }: { effect: keyof typeof SIGNS; text: string }): string =>
  escapeInvisible(`${SIGNS[effect]} ${text}`);

const describeIdentity = ({ intent: { version, update_epoch }, manifest_hash }: LoadedIntent) => ({
  version,
  update_epoch,
  manifest_hash,
});
