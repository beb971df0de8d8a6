/** The verbs as commands: what is parsed and what the help says, both made from the verbs and the API's own words. */
import { Command, InvalidArgumentError, Option } from "commander";
import { findInexactNumber } from "../../lib/kit/exact_numbers.ts";
import { JsonRejected, parseStrictJson } from "../../lib/kit/strict_json.ts";
import { version } from "../../lib/kit/version.ts";
import { CONNECTION } from "./connection.ts";
import { EXITS } from "./exit.ts";
import { type Field, OPERATIONS } from "../../lib/client/generated/operations.ts";
import { PROGRAMS } from "./programs.ts";
import type { Given, Verb } from "./verb.ts";
import { VERBS } from "./verbs/index.ts";

/** Runs a verb that was called. */
export type Act = (verb: Verb, given: Given, common: Common) => Promise<void>;

/** The options that every verb has. */
export interface Common {
  url?: string;
  tokenFile?: string;
  agentTokenFile?: string;
  json?: boolean;
}

/** The program. Where it is called wrongly, or asked for its help, it throws commander's `CommanderError`. */
export function makeProgram(act: Act, write: { out(text: string): void; err(text: string): void }): Command {
  const program = new Command("countersign")
    .description("Governs product changes: propose, consent, apply, verify, roll back, on a hash-chained audit log.")
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: write.out, writeErr: write.err })
    .configureHelp({ helpWidth: HELP_WIDTH })
    .helpCommand("help [verb]", "what a verb takes")
    .showHelpAfterError("(--help says what it takes)")
    .addHelpText("after", AFTER);
  for (const verb of VERBS) declare(parentOf(verb, program), verb, act);
  for (const [name, { help }] of Object.entries(PROGRAMS)) program.command(`${name} [options...]`).description(help);
  return program;
}

/** Words under which verbs stand, with their help. */
const GROUPS: Readonly<Record<string, string>> = {
  attestation: "Attestations of changes in force: get one, verify one",
  audit: "The audit log: list, verify, export",
  intent: "A product intent: test it, compare two",
  mandate: "Mandates: list, show, draft, sign, narrow, resume, revoke",
};

/** Returns the command under which a verb stands: the program, or that of its first word where this is a group. */
function parentOf({ usage }: Verb, program: Command): Command {
  const [group = ""] = usage.split(" ");
  if (!Object.hasOwn(GROUPS, group)) return program;
  const known = program.commands.find((command) => command.name() === group);
  return known ?? program.command(group).description(GROUPS[group]!).helpCommand(false);
}

/** The same on every terminal, so that the manual can show it. */
const HELP_WIDTH = 120;

const AFTER = `
Each verb says with --help what it takes. A secret is never an argument: it stands in a variable, or in a file.

Exit codes:
${Object.values(EXITS)
  .map(([code, meaning]) => `  ${code}  ${meaning.replaceAll("`", "")}`)
  .join("\n")}`;

function declare(parent: Command, verb: Verb, act: Act): void {
  const { summary, description, fields: known }: Operation = verb.operation ? OPERATIONS[verb.operation] : NONE;
  const command = parent
    .command(parent.name() === verb.usage.split(" ")[0] ? verb.usage.replace(/^\S+ /, "") : verb.usage)
    .summary(verb.summary ?? summary)
    .description(verb.summary ?? [summary, description].filter(Boolean).join("\n\n"));
  const fields = (verb.fields ?? []).map((name) => ({ name, option: optionOf(name, known[name]!) }));
  for (const { option } of fields) command.addOption(option);
  for (const argument of command.registeredArguments) if (!argument.variadic) argument.argParser(notEmpty);
  const own = Object.entries(verb.options ?? {}).map(([flags, help]) => new Option(flags, help));
  for (const option of own) command.addOption(option);
  command.optionsGroup("Connection:");
  if (!verb.isLocal) for (const [flags, help] of Object.entries(CONNECTION)) command.option(flags, help);
  command.optionsGroup("Output:");
  if (!verb.plain) command.option("--json", verb.isLocal ? "JSON in place of text" : "the API's answer, untouched");
  command.helpOption("--help", "this text");
  command.action(() => {
    const given = command.opts<Record<string, unknown>>();
    const names = command.registeredArguments;
    const isGiven = ({ option }: { option: Option }) => command.getOptionValueSource(option.attributeName()) === "cli";
    return act(
      verb,
      {
        args: Object.fromEntries(
          names.flatMap((one, index) => (one.variadic ? [] : [[one.name(), command.args[index]!]])),
        ),
        rest: names.some(({ variadic }) => variadic) ? command.args : [],
        fields: Object.fromEntries(
          fields.filter(isGiven).map(({ name, option }) => {
            const value = given[option.attributeName()];
            return [name, known[name]!.type === "json" ? (value as { json: unknown }).json : value];
          }),
        ),
        options: Object.fromEntries(
          own.map((option) => [option.attributeName(), given[option.attributeName()] as string]),
        ),
      },
      given,
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

/** True unless it is said otherwise, so it is only said otherwise. */
const NEGATED: Readonly<Record<string, string>> = { reversible: "It cannot be undone, which makes it major." };

function optionOf(name: string, { type, description = "", choices }: Field): Option {
  const flag = name.replaceAll("_", "-");
  if (type === "boolean" && NEGATED[name]) return new Option(`--no-${flag}`, NEGATED[name]);
  if (type === "boolean") return new Option(`--${flag}`, description);
  const placeholder = { integer: "number", number: "number", json: "json", string: "text" }[type];
  const option = new Option(`--${flag} <${placeholder}>`, description);
  if (choices) return option.choices(choices);
  // Commander takes a value that is null for none.
  if (type === "json") return option.argParser((text) => ({ json: json(text) }));
  return type === "string" ? option : option.argParser(number);
}

/** A variable of a script that was never set. */
function notEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

/** A number as JSON writes it. */
function number(text: string): number {
  if (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number.");
}

function json(text: string): unknown {
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
