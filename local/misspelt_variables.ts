/** Finds environment variables whose names are nearly those of options: they would be ignored without a warning. */
import { isMisspelling, findNearest } from "../lib/kit/nearest.ts";
import { TABLE, toVariableName } from "./options_table.ts";
import type { Environment } from "./secrets.ts";

const SECRETS = ["SVC_ADMIN_TOKEN", "SVC_READ_TOKEN", "SVC_ADAPTER_SECRET", "SVC_NOTIFY_SECRET", "SVC_AGENT_TOKEN"];
const WITH_FILES = [...SECRETS, ...Object.values(TABLE).map(({ flag }) => toVariableName(flag))];
/** Known variables in lower case; the server and the command line may share an environment. */
const KNOWN = [
  "SVC_PROTECT_ALL",
  "SVC_PROTECT_READS",
  "SVC_URL",
  ...WITH_FILES.flatMap((name) => [name, `${name}_FILE`]),
].map((name) => name.toLowerCase());

/** Lists a sentence for each misspelt variable; `exempt` is a variable that an option names. */
export const findMisspeltVariables = (env: Environment, exempt: string | undefined): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("SVC_") && name !== exempt && isMisspelling(name.toLowerCase(), KNOWN))
    .map((name) => `${name} is no option: did you mean ${findNearest(name, KNOWN).toUpperCase()}?`);
