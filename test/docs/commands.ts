/** The commands of a fenced block, each with what the document says will come of it. */
import { spawnSync } from "node:child_process";
import type { Block } from "./markdown.ts";

/** One command. */
export interface Command {
  line: number;
  text: string;
  /** The output that the document shows; undefined if nothing is compared. */
  output?: string;
  /** The exit code it ends with: 0, or what the comment above it says (`# …, exit code 2`). */
  status: number;
}

/** The commands of a block in a shell's language; undefined for any other. */
export function listCommands(block: Block): Command[] | undefined {
  if (block.language === "console") return shown(block);
  if (block.language === "sh") return listed(block);
  return undefined;
}

/** A session: lines behind `$ ` are commands, the others what came. */
function shown({ text, line }: Block): Command[] {
  const commands: Command[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    if (!lines[at]!.startsWith("$ ")) throw new Error(`line ${line + at}: a session begins with "$ " and a command`);
    const command = { line: line + at, text: lines[at]!.slice(2), status: 0 };
    while (!isWhole(command.text)) command.text += `\n${next(lines, ++at, command).replace(/^> /, "")}`;
    const output: string[] = [];
    while (at + 1 < lines.length && !lines[at + 1]!.startsWith("$ ")) output.push(lines[++at]!);
    commands.push({ ...command, output: output.join("\n").trim() });
  }
  return commands;
}

/** A script: one command after the other. */
function listed({ text, line }: Block): Command[] {
  const commands: Command[] = [];
  const lines = text.split("\n");
  let comment = "";
  for (let at = 0; at < lines.length; at++) {
    if (/^\s*(#|$)/.test(lines[at]!)) {
      comment += ` ${lines[at]}`;
      continue;
    }
    const [, status = "0"] = /\bexit code (\d+)/.exec(comment) ?? [];
    const command = { line: line + at, text: lines[at]!, status: Number(status) };
    while (!isWhole(command.text)) command.text += `\n${next(lines, ++at, command)}`;
    commands.push(command);
    comment = "";
  }
  return commands;
}

function next(lines: string[], at: number, { line }: Command): string {
  const found = lines[at];
  if (found === undefined) throw new Error(`line ${line}: this command does not end`);
  return found;
}

/** One line of words, variables, closed quotes and pipes: a complete command, unless it begins something longer. */
const SIMPLE =
  /^(?!.*<<|.*(?:\||&&)\s*$|(?:for|while|until|if|case|select|function)\b)(?:[\w@%+=:,./$?*~|&<> -]|\$\([^()'"\\`]*\)|"(?:[^"\\`(]|\$\([^()'"\\`]*\))*"|'[^'\n]*')+$/;

/** The name that ends the here-document of a command. */
const HERE_DOCUMENT = /<<-?\s*(['"]?)(\w+)\1/;

/** True for what a shell takes as a complete command: no open quote, loop or here-document, no backslash at the end. */
function isWhole(text: string): boolean {
  if (SIMPLE.test(text)) return true;
  const [, , end] = HERE_DOCUMENT.exec(text) ?? [];
  if (end !== undefined && !text.split("\n").includes(end)) return false;
  if (/(^|[^\\])(\\\\)*\\$/.test(text)) return false;
  const { status, stderr } = spawnSync("bash", ["-n"], { input: `${text}\n`, encoding: "utf8" });
  return status === 0 ? stderr === "" : !/unexpected (end of file|EOF)/.test(stderr);
}
