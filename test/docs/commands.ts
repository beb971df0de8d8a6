/** Parses the commands of a fenced block, each with the output and the exit code that the document states. */
import { spawnSync } from "node:child_process";
import type { Block } from "./markdown.ts";

export interface Command {
  line: number;
  text: string;
  /** The output that the document shows; undefined if nothing is compared. */
  output?: string;
  /** The expected exit code: 0, or the number in the comment above the command (`# …, exit code 2`). */
  status: number;
}

/** Returns the commands of a `console` or `sh` block; undefined for any other block. */
export function listCommands(block: Block): Command[] | undefined {
  if (block.language === "console") return parseSession(block);
  if (block.language === "sh") return parseScript(block);
  return undefined;
}

/** Parses a session: lines that begin with `$ ` are commands, the lines after a command are its output. */
function parseSession({ text, line }: Block): Command[] {
  const commands: Command[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    if (!lines[at]!.startsWith("$ ")) throw new Error(`line ${line + at}: a session begins with "$ " and a command`);
    const command = { line: line + at, text: lines[at]!.slice(2), status: 0 };
    while (!isComplete(command.text)) {
      at++;
      command.text += `\n${lineAt(lines, at, command).replace(/^> /, "")}`;
    }
    const output: string[] = [];
    while (at + 1 < lines.length && !lines[at + 1]!.startsWith("$ ")) {
      at++;
      output.push(lines[at]!);
    }
    commands.push({ ...command, output: output.join("\n").trim() });
  }
  return commands;
}

/** Parses a script: one command after the other. */
function parseScript({ text, line }: Block): Command[] {
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
    while (!isComplete(command.text)) {
      at++;
      command.text += `\n${lineAt(lines, at, command)}`;
    }
    commands.push(command);
    comment = "";
  }
  return commands;
}

/** Returns a further line of a command; throws where the block has no more lines. */
function lineAt(lines: string[], at: number, command: Command): string {
  const line = lines[at];
  if (line === undefined) throw new Error(`line ${command.line}: this command does not end`);
  return line;
}

/**
 * Matches a line of words, variables, closed quotes and pipes that is a complete command. It does not match a line that ends
 * with a pipe or `&&`, or begins a here-document or a loop.
 */
const ONE_LINE_COMMAND =
  /^(?!.*<<|.*(?:\||&&)\s*$|(?:for|while|until|if|case|select|function)\b)(?:[\w@%+=:,./$?*~|&<> -]|\$\([^()'"\\`]*\)|"(?:[^"\\`(]|\$\([^()'"\\`]*\))*"|'[^'\n]*')+$/;

/** The name that ends the here-document of a command. */
const HERE_DOCUMENT = /<<-?\s*(['"]?)(\w+)\1/;

/** Returns whether a shell accepts the text as a complete command: no open quote, loop or here-document, no backslash at the end. */
function isComplete(text: string): boolean {
  if (ONE_LINE_COMMAND.test(text)) return true;
  const [, , end] = HERE_DOCUMENT.exec(text) ?? [];
  if (end !== undefined && !text.split("\n").includes(end)) return false;
  if (/(^|[^\\])(\\\\)*\\$/.test(text)) return false;
  // Bash reports an open quote or loop as an unexpected end; any other syntax error is left to the run of the command.
  const { status, stderr } = spawnSync("bash", ["-n"], { input: `${text}\n`, encoding: "utf8" });
  return status === 0 ? stderr === "" : !/unexpected (end of file|EOF)/.test(stderr);
}
