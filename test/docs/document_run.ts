/** Runs the blocks of a document in order, in a folder that looks like a checkout after `npm ci` and a build. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { transform } from "esbuild";
import { parse as parseYaml } from "yaml";
import { fillCheckout } from "./checkout.ts";
import { fileName } from "./code.ts";
import { type Command, listCommands } from "./commands.ts";
import { type Block, type Document, documents } from "./markdown.ts";
import { findDifference, parseShownJson } from "./compare_output.ts";
import { type Program, Shell } from "./shell.ts";
import { RunValues } from "./run_values.ts";

/** Checks a block that is an example of input or output of the service. Throws if it is wrong. */
// oxlint-disable-next-line no-explicit-any -- examples have no type
export type CheckExample = (example: any, documentRun: DocumentRun) => unknown;

/** Environment in which the blocks of a document run, in addition to a checkout. */
export interface RunEnvironment {
  /** Replacements for texts of the document, such as an address. */
  replacements?: Record<string, string>;
  /** Environment variables of the shell. */
  env?: Record<string, string>;
  /** Documents whose TypeScript files (blocks with a file name) this document needs. */
  filesFrom?: string[];
  /** Checks of the examples, by the text behind the fence: `json intent`. */
  exampleChecks?: Record<string, CheckExample>;
  close?(): Promise<void>;
}

/** A document whose blocks are being run. */
export interface DocumentRun {
  runValues: RunValues;
  /** The checkout. */
  folder: string;
  /** Runs a block; throws if the result is not what the document shows. */
  runBlock(block: Block): Promise<void>;
  /** Starts a background program on these ports of the document and stops the previous program on them. */
  start(command: string, ports?: string[]): Promise<void>;
  /** Returns the address of the background program on a port of the document. */
  url(port: number): string;
  program(port: number): Program;
  close(): Promise<void>;
}

/** Marks are comments in the document before a block, which say how it is run. */
const NOT_RUN = /^not run: (.+)$/s;
const KEEPS_RUNNING = /^keeps running(?: on (\d+(?:, \d+)*))?$/;

/** Returns the reason why a block is not run; undefined if it is run. */
export const notRunReason = ({ marks }: Block): string | undefined =>
  marks.map((mark) => NOT_RUN.exec(mark)?.[1]).find((reason) => reason !== undefined);

/** Returns the ports on which the last command of a block keeps running; undefined if it ends by itself. */
function parsePorts({ marks }: Block): string[] | undefined {
  const [, ports] = marks.map((mark) => KEEPS_RUNNING.exec(mark)).find((match) => match !== null) ?? [];
  return marks.some((mark) => KEEPS_RUNNING.test(mark)) ? (ports?.split(", ") ?? []) : undefined;
}

/** Prepares a folder and a shell for a document. */
export async function openRun(document: Document, environment: RunEnvironment = {}): Promise<DocumentRun> {
  const root = mkdtempSync(join(tmpdir(), "countersign-docs-"));
  const makeFolder = (name: string): string => {
    mkdirSync(join(root, name));
    return join(root, name);
  };
  const [folder, bin, home] = [makeFolder("checkout"), makeFolder("bin"), makeFolder("home")];
  await fillCheckout(folder, bin);
  // At a terminal curl shows the response and no progress.
  writeFileSync(join(home, ".curlrc"), "silent\nshow-error\n");
  const path = `${bin}${delimiter}${process.env["PATH"]}`;
  const shell = new Shell(folder, makeFolder("steps"), {
    PATH: path,
    HOME: home,
    LANG: "C.UTF-8",
    // Any free port.
    SVC_PORT: "0",
    PORT: "0",
    ...environment.env,
  });
  const runValues = new RunValues();
  for (const [shown, actual] of Object.entries(environment.replacements ?? {})) runValues.addReplacement(shown, actual);
  const running = new Map<string, Program>();

  const documentRun: DocumentRun = {
    runValues,
    folder,
    runBlock,
    start,
    url: (port) => runValues.translate(`http://127.0.0.1:${port}`),
    program: (port) => running.get(String(port))!,
    close,
  };
  for (const { path, blocks } of documents())
    if (environment.filesFrom?.includes(path))
      for (const block of blocks) if (block.language === "ts" && fileName(block)) await runModule(block);
  return documentRun;

  async function runBlock(block: Block): Promise<void> {
    const unknownMark = block.marks.find((mark) => !NOT_RUN.test(mark) && !KEEPS_RUNNING.test(mark));
    if (unknownMark !== undefined) throw new Error(`"${unknownMark}" is not a mark that the tests know`);
    const commands = listCommands(block);
    if (commands) await runCommands(commands, parsePorts(block));
    else if (block.language === "ts" || block.language === "js") await runModule(block);
    else if (block.language !== "text") await checkExample(block);
  }

  /** Runs commands; the last one keeps running if there are `ports` for it. */
  async function runCommands(commands: Command[], ports: string[] | undefined): Promise<void> {
    for (const [index, command] of commands.entries()) {
      if (ports && index === commands.length - 1) await start(command.text, ports, command.output);
      else await runToEnd(command);
    }
  }

  async function runToEnd({ line, text, output, status }: Command): Promise<void> {
    const ended = await shell.run(runValues.translate(text));
    const problem =
      ended.status === status
        ? output !== undefined && findDifference(output, ended.output, runValues)
        : `it ended with exit code ${ended.status}, not ${status}:\n${ended.output}`;
    if (problem) throw new Error(`${document.path}:${line}: ${text}\n${problem}`);
  }

  /**
   * Starts a background program, and waits until it has printed its ports or the shown output. It gets free ports, which
   * replace the ports of the document from now on.
   */
  async function start(command: string, documentPorts: string[] = [], output?: string): Promise<void> {
    if (documentPorts.length === 0 && !output) throw new Error(`${command}\nno port and no output shows that it runs`);
    for (const port of documentPorts) await running.get(port)?.stop();
    let commandOnFreePorts = command;
    for (const port of documentPorts)
      commandOnFreePorts = commandOnFreePorts.replaceAll(new RegExp(`\\b${port}\\b`, "g"), "0");
    const program = await shell.start(runValues.translate(commandOnFreePorts));
    const actualPorts: string[] = [];
    await program.until((line) => {
      const port = findPort(line);
      if (port !== undefined) actualPorts.push(port);
      if (actualPorts.length < documentPorts.length) return undefined;
      return output && findDifference(output, program.lines.join("\n"), runValues) ? undefined : true;
    });
    for (const [index, port] of documentPorts.entries()) {
      running.set(port, program);
      runValues.addPort(port, actualPorts[index]!);
    }
  }

  /** Writes a block with a file name as that file and compiles it; runs any other block as a program until it ends. */
  async function runModule(block: Block): Promise<void> {
    const source = runValues.replaceTexts(block.text);
    const name = fileName(block);
    if (name !== undefined) {
      writeFileIn(folder, name, source);
      if (name.endsWith(".ts")) writeFileIn(folder, name.replace(/ts$/, "js"), await compileModule(source));
      return;
    }
    const program = `line_${block.line}.mjs`;
    writeFileSync(join(folder, program), `${await compileModule(source)}\nprocess.exit();\n`);
    await runToEnd({ line: block.line, text: `node ${program}`, status: 0 });
  }

  async function checkExample({ info, language, text, line }: Block): Promise<void> {
    const check = environment.exampleChecks?.[info];
    if (!check) throw new Error(`${document.path}:${line}: no check for a block of "${info}"`);
    let example: unknown = text;
    if (language === "json") example = parseShownJson(text);
    if (language === "yaml") example = parseYaml(text, { merge: true });
    if (example === undefined) throw new Error(`${document.path}:${line}: this is no JSON`);
    await check(example, documentRun);
  }

  async function close(): Promise<void> {
    await shell.close();
    await environment.close?.();
    rmSync(root, { recursive: true, force: true });
  }
}

const compileModule = async (text: string): Promise<string> =>
  (await transform(text, { loader: "ts", format: "esm" })).code;

function writeFileIn(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Returns the port in an output line: a JSON line of the log or of the Python peer, or a URL. */
function findPort(line: string): string | undefined {
  const fields = line.startsWith("{") ? JSON.parse(line) : { url: line };
  if (!["listening", "link open", undefined].includes(fields.message)) return undefined;
  return /:(\d+)$/.exec(fields.url ?? fields.address ?? `:${fields.listening}`)?.[1];
}
