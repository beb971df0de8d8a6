/** Variables that are named almost as one that is known: without a word they would be passed over. */
import { isMisspelling, findNearest } from "../lib/kit/nearest.ts";
import { TABLE, environmentName } from "./options_table.ts";
import type { Environment } from "./secrets.ts";

const SECRETS = ["SVC_ADMIN_TOKEN", "SVC_READ_TOKEN", "SVC_ADAPTER_SECRET", "SVC_NOTIFY_SECRET", "SVC_AGENT_TOKEN"];
const WITH_FILES = [...SECRETS, ...Object.values(TABLE).map(({ flag }) => environmentName(flag))];
/** Variables of the server and of the command line, which may share an environment; in lower case. */
const KNOWN = [
  "SVC_PROTECT_ALL",
  "SVC_PROTECT_READS",
  "SVC_URL",
  ...WITH_FILES.flatMap((name) => [name, `${name}_FILE`]),
].map((name) => name.toLowerCase());

/** A sentence for each, but for `given`, which an option names. */
export const findMisspelt = (env: Environment, given: string | undefined): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("SVC_") && name !== given && isMisspelling(name.toLowerCase(), KNOWN))
    .map((name) => `${name} is no option: did you mean ${findNearest(name, KNOWN).toUpperCase()}?`);
