/** Creates the commands of the program: parsing and help, from the verbs and the API's descriptions. */
import { Command, InvalidArgumentError, Option } from "commander";
import { findInexactNumber } from "../../lib/kit/exact_numbers.ts";
import { JsonRejected, parseStrictJson } from "../../lib/kit/strict_json.ts";
import { isMisspelling } from "../../lib/kit/nearest.ts";
import { version } from "../../lib/kit/version.ts";
import { CONNECTION } from "./connection.ts";
import { EXITS } from "./exit.ts";
import { type Field, OPERATIONS } from "../../lib/client/generated/operations.ts";
import { PROGRAMS } from "./programs.ts";
import type { VerbCall, Verb } from "./verb.ts";
import { VERBS } from "./verbs/index.ts";

/** Runs a verb that was called. */
export type RunVerb = (verb: Verb, call: VerbCall, common: Common) => Promise<void>;

/** Options of the connection and of the output; a verb has those that apply to it. */
export interface Common {
  url?: string;
  tokenFile?: string;
  agentTokenFile?: string;
  json?: boolean;
}

/** Creates the program. It throws commander's `CommanderError` for a wrong call, or for help. */
export function makeProgram(runVerb: RunVerb, write: { out(text: string): void; err(text: string): void }): Command {
  const program = new Command("countersign")
    .description("Governs product changes: propose, consent, apply, verify, roll back, on a hash-chained audit log.")
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: write.out,
      writeErr: write.err,
      outputError: (text, writeError) => writeError(adviseOnError(text)),
    })
    .configureHelp({ helpWidth: HELP_WIDTH })
    .helpCommand("help [verb]", "show the arguments and options of a verb")
    .showHelpAfterError("(see --help)")
    .addHelpText("after", AFTER);
  for (const verb of VERBS) declare(findParent(verb, program), verb, runVerb);
  for (const [name, { help }] of Object.entries(PROGRAMS)) program.command(`${name} [options...]`).description(help);
  return program;
}

/** Removes a suggestion that is no probable misspelling, and explains arguments that a shell may have added. */
function adviseOnError(text: string): string {
  const [suggestion, nearest = ""] = /\n\(Did you mean --(\S+)\?\)/.exec(text) ?? [];
  const option = /unknown option '--([^']*)'/.exec(text)?.[1] ?? "";
  const isFar = option[0] !== nearest[0] || !isMisspelling(option, [nearest]);
  const advised = suggestion !== undefined && option !== "" && isFar ? text.replace(suggestion, "") : text;
  return advised.replace(/^error: too many arguments.*$/m, "$& A * without quotes stands for file names: quote it.");
}

/** First words of verbs of two words, with their help. */
const GROUPS: Readonly<Record<string, string>> = {
  attestation: "Attestations of changes in force: get one, verify one",
  audit: "The audit log: list, verify, export",
  intent: "A product intent: test it, compare two",
  mandate: "Mandates: list, show, draft, sign, narrow, resume, revoke",
};

/** Returns the parent of a verb's command: the program, or the command of its group. */
function findParent({ usage }: Verb, program: Command): Command {
  const [group = ""] = usage.split(" ");
  if (!Object.hasOwn(GROUPS, group)) return program;
  const existing = program.commands.find((command) => command.name() === group);
  return existing ?? program.command(group).description(GROUPS[group]!).helpCommand(false);
}

/** Fixed width, so that the manual can show the help. */
const HELP_WIDTH = 120;

const AFTER = `
See the options of a verb with --help. A secret is never an argument: it is in a variable or a file.

Exit codes:
${Object.values(EXITS)
  .map(([code, meaning]) => `  ${code}  ${meaning.replaceAll("`", "")}`)
  .join("\n")}`;

function declare(parent: Command, verb: Verb, runVerb: RunVerb): void {
  const { summary, description, fields: apiFields }: Operation = verb.operation ? OPERATIONS[verb.operation] : NONE;
  // In a group, a verb of two words is declared by its second word.
  const command = parent
    .command(parent.name() === verb.usage.split(" ")[0] ? verb.usage.replace(/^\S+ /, "") : verb.usage)
    .summary(verb.summary ?? summary)
    .description(verb.summary ?? [summary, description].filter(Boolean).join("\n\n"));
  const fields = (verb.fields ?? []).map((name) => ({ name, option: createOption(name, apiFields[name]!) }));
  for (const { name, option } of fields) {
    command.addOption(option);
    if (NEGATED[name]) command.addOption(new Option(`--no-${name}`, NEGATED[name]));
  }
  for (const argument of command.registeredArguments) if (!argument.variadic) argument.argParser(requireText);
  const verbOptions = Object.entries(verb.options ?? {}).map(([flags, help]) => new Option(flags, help));
  for (const option of verbOptions) command.addOption(option);
  command.optionsGroup("Connection:");
  if (!verb.isLocal) for (const [flags, help] of Object.entries(CONNECTION)) command.option(flags, help);
  command.optionsGroup("Output:");
  if (!verb.plain) command.option("--json", verb.isLocal ? "JSON instead of text" : "the API's answer, unchanged");
  command.helpOption("--help", "this text");
  command.action(() => {
    const parsedOptions = command.opts<Record<string, unknown>>();
    const names = command.registeredArguments;
    const isSet = ({ option }: { option: Option }) => command.getOptionValueSource(option.attributeName()) === "cli";
    return runVerb(
      verb,
      {
        args: Object.fromEntries(
          names.flatMap((one, index) => (one.variadic ? [] : [[one.name(), command.args[index]!]])),
        ),
        rest: names.some(({ variadic }) => variadic) ? command.args : [],
        fields: Object.fromEntries(
          fields.filter(isSet).map(({ name, option }) => {
            const value = parsedOptions[option.attributeName()];
            return [name, apiFields[name]!.type === "json" ? (value as { json: unknown }).json : value];
          }),
        ),
        options: Object.fromEntries(
          verbOptions.map((option) => [option.attributeName(), parsedOptions[option.attributeName()] as string]),
        ),
      },
      parsedOptions,
    );
  });
}

/** Operation of a verb that has none. */
const NONE: Operation = { summary: "", fields: {} };

interface Operation {
  summary: string;
  description?: string;
  fields: Readonly<Record<string, Field>>;
}

/** Fields that also have an option that sets false, with its help. */
const NEGATED: Readonly<Record<string, string>> = { reversible: "It cannot be undone, which makes it major." };

function createOption(name: string, { type, description = "", choices }: Field): Option {
  const flag = name.replaceAll("_", "-");
  if (type === "boolean") return new Option(`--${flag}`, description);
  const placeholder = { integer: "number", number: "number", json: "json", string: "text" }[type];
  const option = new Option(`--${flag} <${placeholder}>`, description);
  if (choices) return option.choices(choices);
  // Commander ignores a value of null, so it is wrapped.
  if (type === "json") return option.argParser((text) => ({ json: parseJson(text) }));
  return type === "string" ? option : option.argParser(parseNumber);
}

/** Rejects empty text, as from an unset variable of a script. */
function requireText(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

/** Parses a number in the form of JSON. */
function parseNumber(text: string): number {
  if (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number.");
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof JsonRejected)) throw error;
    throw new InvalidArgumentError(`It ${error.message}. JSON is true, 3, '"text"', '{"on":true}'.`);
  }
  if (findInexactNumber(text) === undefined) return value;
  throw new InvalidArgumentError("It has a number with more digits than can be stored exactly; write it as a string.");
}
