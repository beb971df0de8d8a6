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
import { difference, parseShown } from "./shape.ts";
import { type Program, Shell } from "./shell.ts";
import { StandIns } from "./stand_ins.ts";

/** Checks a block that is an example of input or output of the service. Throws if it is wrong. */
// oxlint-disable-next-line no-explicit-any -- examples have no type
export type Reader = (example: any, story: Story) => unknown;

/** Requirements of a document in addition to a checkout. */
export interface Stage {
  /** Replacements for texts of the document, such as an address. */
  stands?: Record<string, string>;
  /** Environment variables of the shell. */
  env?: Record<string, string>;
  /** Documents whose files this document needs. */
  filesOf?: string[];
  /** Readers of the examples, by the text behind the fence: `json intent`. */
  readers?: Record<string, Reader>;
  close?(): Promise<void>;
}

/** A running document. */
export interface Story {
  standIns: StandIns;
  /** The checkout. */
  folder: string;
  /** Runs a block; throws if the result is not what the document shows. */
  run(block: Block): Promise<void>;
  /** Starts a background program on these ports of the document and stops the previous program on them. */
  start(command: string, ports?: string[]): Promise<void>;
  /** Returns the address of the background program on a port of the document. */
  url(port: number): string;
  program(port: number): Program;
  close(): Promise<void>;
}

const NOT_RUN = /^not run: (.+)$/s;
const KEEPS_RUNNING = /^keeps running(?: on (\d+(?:, \d+)*))?$/;

/** Returns the reason why a block is not run; undefined if it is run. */
export const notRunReason = ({ marks }: Block): string | undefined =>
  marks.map((mark) => NOT_RUN.exec(mark)?.[1]).find((why) => why !== undefined);

/** Returns the ports on which the last command of a block keeps running; undefined if it ends by itself. */
function parsePorts({ marks }: Block): string[] | undefined {
  const [, ports] = marks.map((mark) => KEEPS_RUNNING.exec(mark)).find((match) => match !== null) ?? [];
  return marks.some((mark) => KEEPS_RUNNING.test(mark)) ? (ports?.split(", ") ?? []) : undefined;
}

/** Prepares a folder and a shell for a document. */
export async function openStory(document: Document, stage: Stage = {}): Promise<Story> {
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
  const anyPort = { SVC_PORT: "0", PORT: "0" };
  const shell = new Shell(folder, makeFolder("steps"), {
    PATH: path,
    HOME: home,
    LANG: "C.UTF-8",
    ...anyPort,
    ...stage.env,
  });
  const standIns = new StandIns();
  for (const [shown, actual] of Object.entries(stage.stands ?? {})) standIns.give(shown, actual);
  const running = new Map<string, Program>();

  const story: Story = {
    standIns,
    folder,
    run,
    start,
    url: (port) => standIns.put(`http://127.0.0.1:${port}`),
    program: (port) => running.get(String(port))!,
    close,
  };
  for (const { path, blocks } of documents())
    if (stage.filesOf?.includes(path))
      for (const block of blocks) if (block.language === "ts" && fileName(block)) await runModule(block);
  return story;

  async function run(block: Block): Promise<void> {
    const unknownMark = block.marks.find((mark) => !NOT_RUN.test(mark) && !KEEPS_RUNNING.test(mark));
    if (unknownMark !== undefined) throw new Error(`"${unknownMark}" is no mark that the tests know`);
    const commands = listCommands(block);
    if (commands) await runCommands(commands, parsePorts(block));
    else if (block.language === "ts" || block.language === "js") await runModule(block);
    else if (block.language !== "text") await readExample(block);
  }

  async function runCommands(commands: Command[], keepsOn: string[] | undefined): Promise<void> {
    for (const [index, command] of commands.entries()) {
      if (keepsOn && index === commands.length - 1) await start(command.text, keepsOn, command.output);
      else await runToEnd(command);
    }
  }

  async function runToEnd({ line, text, output, status }: Command): Promise<void> {
    const ended = await shell.run(standIns.put(text));
    const wrong =
      ended.status === status
        ? output !== undefined && difference(output, ended.output, standIns)
        : `it ended with exit code ${ended.status}, not ${status}:\n${ended.output}`;
    if (wrong) throw new Error(`${document.path}:${line}: ${text}\n${wrong}`);
  }

  /**
   * Starts a background program, and waits until it has printed its ports or the shown output. It gets free ports, which
   * replace the ports of the document from now on.
   */
  async function start(command: string, shown: string[] = [], output?: string): Promise<void> {
    if (shown.length === 0 && !output) throw new Error(`${command}\nno port and no output shows that it runs`);
    for (const port of shown) await running.get(port)?.stop();
    const onAnyPort = shown.reduce((put, port) => put.replaceAll(new RegExp(`\\b${port}\\b`, "g"), "0"), command);
    const program = await shell.start(standIns.put(onAnyPort));
    const actual: string[] = [];
    await program.until((line) => {
      const port = findPort(line);
      if (port !== undefined) actual.push(port);
      if (actual.length < shown.length) return undefined;
      return output && difference(output, program.lines.join("\n"), standIns) ? undefined : true;
    });
    for (const [index, port] of shown.entries()) {
      running.set(port, program);
      standIns.givePort(port, actual[index]!);
    }
  }

  /** Writes a block with a file name as that file and compiles it; runs any other block as a program until it ends. */
  async function runModule(block: Block): Promise<void> {
    const { text, line } = block;
    const given = standIns.given(text);
    const name = fileName(block);
    if (name !== undefined) {
      writeFileIn(folder, name, given);
      if (name.endsWith(".ts")) writeFileIn(folder, name.replace(/ts$/, "js"), await compileModule(given));
      return;
    }
    writeFileSync(join(folder, `line_${line}.mjs`), `${await compileModule(given)}\nprocess.exit();\n`);
    await runToEnd({ line, text: `node line_${line}.mjs`, status: 0 });
  }

  async function readExample({ info, language, text, line }: Block): Promise<void> {
    const read = stage.readers?.[info];
    if (!read) throw new Error(`${document.path}:${line}: nothing reads a block of "${info}"`);
    const example =
      language === "json" ? parseShown(text) : language === "yaml" ? parseYaml(text, { merge: true }) : text;
    if (example === undefined) throw new Error(`${document.path}:${line}: this is no JSON`);
    await read(example, story);
  }

  async function close(): Promise<void> {
    await shell.close();
    await stage.close?.();
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

/** Returns the port in an output line: a line of the log, a URL, or a line of the Python peer. */
function findPort(line: string): string | undefined {
  const reported = line.startsWith("{") ? JSON.parse(line) : { url: line };
  if (!["listening", "link open", undefined].includes(reported.message)) return undefined;
  return /:(\d+)$/.exec(reported.url ?? reported.address ?? `:${reported.listening}`)?.[1];
}
