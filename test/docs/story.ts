/** Runs a document from its first block to its last, in a folder that looks like a checkout after `npm ci` and a build. */
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

/** Reads a block that is an example of what the service reads or writes. Throws where it is none. */
// oxlint-disable-next-line no-explicit-any -- whatever the document shows
export type Reader = (example: any, story: Story) => unknown;

/** Requirements of a document's story in addition to a checkout. */
export interface Stage {
  /** Values of this run for texts of the document, such as an address. */
  stands?: Record<string, string>;
  /** Variables of the reader's shell. */
  env?: Record<string, string>;
  /** Documents whose files it builds on. */
  filesOf?: string[];
  /** How its examples are read, by what stands behind the fence: `json intent`. */
  readers?: Record<string, Reader>;
  close?(): Promise<void>;
}

/** A document that is being run. */
export interface Story {
  standIns: StandIns;
  /** The checkout. */
  folder: string;
  /** Runs a block; throws where the document does not tell the truth. */
  run(block: Block): Promise<void>;
  /** Starts what keeps running on these ports of the document, in place of what did so before. */
  start(command: string, ports?: string[]): Promise<void>;
  /** The address of what keeps running on a port of the document, and the program. */
  url(port: number): string;
  program(port: number): Program;
  close(): Promise<void>;
}

const NOT_RUN = /^not run: (.+)$/s;
const KEEPS_RUNNING = /^keeps running(?: on (\d+(?:, \d+)*))?$/;

/** Why a block is not run; undefined when it is. */
export const whyNotRun = ({ marks }: Block): string | undefined =>
  marks.map((mark) => NOT_RUN.exec(mark)?.[1]).find((why) => why !== undefined);

/** The ports on which a block's last command keeps running; undefined when it ends by itself. */
function portsOf({ marks }: Block): string[] | undefined {
  const [, ports] = marks.map((mark) => KEEPS_RUNNING.exec(mark)).find((match) => match !== null) ?? [];
  return marks.some((mark) => KEEPS_RUNNING.test(mark)) ? (ports?.split(", ") ?? []) : undefined;
}

/** Opens the story of a document. */
export async function openStory(document: Document, stage: Stage = {}): Promise<Story> {
  const root = mkdtempSync(join(tmpdir(), "countersign-docs-"));
  const made = (name: string): string => {
    mkdirSync(join(root, name));
    return join(root, name);
  };
  const [folder, bin, home] = [made("checkout"), made("bin"), made("home")];
  await fillCheckout(folder, bin);
  // As at a terminal, where curl shows what it got and no progress.
  writeFileSync(join(home, ".curlrc"), "silent\nshow-error\n");
  const path = `${bin}${delimiter}${process.env["PATH"]}`;
  const anyPort = { SVC_PORT: "0", PORT: "0" };
  const shell = new Shell(folder, made("steps"), { PATH: path, HOME: home, LANG: "C.UTF-8", ...anyPort, ...stage.env });
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
    const strange = block.marks.find((mark) => !NOT_RUN.test(mark) && !KEEPS_RUNNING.test(mark));
    if (strange !== undefined) throw new Error(`"${strange}" is no mark that the tests know`);
    const commands = listCommands(block);
    if (commands) await runCommands(commands, portsOf(block));
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
   * Runs when it has said so: by its ports, or by the output that is shown. Its ports are free ones; from now on they are
   * meant where the document names its own.
   */
  async function start(command: string, shown: string[] = [], output?: string): Promise<void> {
    if (shown.length === 0 && !output) throw new Error(`${command}\nno port and no output shows that it runs`);
    for (const port of shown) await running.get(port)?.stop();
    const onAnyPort = shown.reduce((put, port) => put.replaceAll(new RegExp(`\\b${port}\\b`, "g"), "0"), command);
    const program = await shell.start(standIns.put(onAnyPort));
    const actual: string[] = [];
    await program.until((line) => {
      const port = portIn(line);
      if (port !== undefined) actual.push(port);
      if (actual.length < shown.length) return undefined;
      return output && difference(output, program.lines.join("\n"), standIns) ? undefined : true;
    });
    for (const [index, port] of shown.entries()) {
      running.set(port, program);
      standIns.givePort(port, actual[index]!);
    }
  }

  /** A block that names its file is a file, compiled next to it; any other is a program, which is run to its end. */
  async function runModule(block: Block): Promise<void> {
    const { text, line } = block;
    const given = standIns.given(text);
    const name = fileName(block);
    if (name !== undefined) {
      writeIn(folder, name, given);
      if (name.endsWith(".ts")) writeIn(folder, name.replace(/ts$/, "js"), await compiled(given));
      return;
    }
    writeFileSync(join(folder, `line_${line}.mjs`), `${await compiled(given)}\nprocess.exit();\n`);
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

const compiled = async (text: string): Promise<string> => (await transform(text, { loader: "ts", format: "esm" })).code;

function writeIn(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The port that a program tells: in a line of the log, in a line that is a URL, or in one as the Python peer writes it. */
function portIn(line: string): string | undefined {
  const reported = line.startsWith("{") ? JSON.parse(line) : { url: line };
  if (!["listening", "link open", undefined].includes(reported.message)) return undefined;
  return /:(\d+)$/.exec(reported.url ?? reported.address ?? `:${reported.listening}`)?.[1];
}
