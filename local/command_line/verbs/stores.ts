/** Stores as a whole: moved, backed up and restored. They ask no service, and work on stores in use. */
import type { ExportEnd } from "../../../lib/store/move/export_format.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import type { Destination, Moved } from "../../../lib/governance/moving/arrive.ts";
import { exportStore } from "../../../lib/governance/moving/export_store.ts";
import { importStore } from "../../../lib/governance/moving/import_store.ts";
import { migrate } from "../../../lib/governance/moving/migrate.ts";
import { readLines, writeExport } from "../../moving/export_file.ts";
import { storeAddress, type StoreAddress } from "../../moving/store_addresses.ts";
import { sha256 } from "../../node_ports.ts";
import type { Environment } from "../../secrets.ts";
import type { Given, Session, Verb } from "../verb.ts";

const STATE = { "--state <path-or-url>": "the store [data/state.json, SVC_STATE]" };
const ACTOR = { "--actor <name>": "who moves it, for the log" };
const deps = { clock: systemClock, sha256 };

const stateOf = ({ env }: Session, { options: { state } }: Given): StoreAddress =>
  storeAddress((state as string | undefined) ?? (env["SVC_STATE"] || "data/state.json"), env);

const logText = (log: Moved["log"] | ExportEnd): string =>
  log?.origin ? `log ${log.origin}, ${log.length} entries, head ${log.head}` : "no log was begun in it";

/** Writes a file of a store. */
const fileOf =
  (kind: "export" | "backup") =>
  async (session: Session, given: Given): Promise<{ text: string }> => {
    const file = given.args["file"]!;
    const address = stateOf(session, given);
    const source = kind === "export" ? await address.departed() : await address.copied();
    try {
      const end = await writeExport(file, (durable) =>
        exportStore(source, { kind, to: `the file ${file}`, durable }, deps),
      );
      const next =
        kind === "export"
          ? `${source.name} takes no more writes: countersign import ${file} --state …`
          : `${source.name} goes on`;
      return { text: `${file}: ${logText(end)}\n${next}` };
    } finally {
      await source.close();
    }
  };

/** Loads a store. What a broken move left in it, which nobody was shown, is taken out first. */
async function loaded(
  address: StoreAddress,
  { options: { actor } }: Given,
  load: (destination: Destination) => Promise<Moved>,
  resumed: (move: string) => Promise<boolean> = async () => false,
): Promise<{ text: string }> {
  let to = await address.opened();
  try {
    const left = await to.whole!.mark();
    if (left?.state === "loading" && !(await resumed(left.move))) {
      await to.whole!.clear(left);
      await to.close();
      to = await address.opened();
    }
    const { log } = await load({ to, name: address.name, actor: actor as string | undefined });
    return { text: `${address.name}: ${logText(log)}\nand behind it the entry of the move` };
  } finally {
    await to.close();
  }
}

/** Reads a file into a store. */
const from =
  (how: "import" | "restore") =>
  (session: Session, given: Given): Promise<{ text: string }> => {
    const file = given.args["file"]!;
    const lines = readLines(file);
    return loaded(stateOf(session, given), given, (destination) =>
      importStore({ name: file, lines }, how, destination, deps),
    );
  };

async function move({ env }: { env: Environment }, given: Given): Promise<{ text: string }> {
  const { from: here, to: there } = given.args;
  const [address, destination] = [storeAddress(here!, env), storeAddress(there!, env)];
  const source = await address.departed();
  try {
    // A move that was fenced and lacks its end is ended, and not begun anew.
    const resumed = async (id: string): Promise<boolean> => (await source.from.mark())?.move === id;
    return await loaded(destination, given, (to) => migrate(source, to, deps), resumed);
  } finally {
    await source.close();
  }
}

const common = { onStores: true, plain: true } as const;

/** Moves a store out into a file. */
export const exportVerb: Verb = {
  usage: "export <file>",
  summary: "Move a store into a file: from then on it takes no writes",
  options: STATE,
  ...common,
  run: fileOf("export"),
};

/** Moves a store in from a file. */
export const importVerb: Verb = {
  usage: "import <file>",
  summary: "Move a store in from the file of an export",
  options: { ...STATE, ...ACTOR },
  ...common,
  run: from("import"),
};

/** Moves a store into another. */
export const migrateVerb: Verb = {
  usage: "migrate <from> <to>",
  summary: "Move a store into an empty one; a store is a path, postgres://…, dynamodb://… or env:NAME",
  options: ACTOR,
  ...common,
  run: move,
};

/** Copies a store. */
export const backupVerb: Verb = {
  usage: "backup <file>",
  summary: "Copy a store into a file, while services use it",
  options: STATE,
  ...common,
  run: fileOf("backup"),
};

/** Makes a store of a backup. */
export const restoreVerb: Verb = {
  usage: "restore <file>",
  summary: "Load a backup into an empty store",
  options: { ...STATE, ...ACTOR },
  ...common,
  run: from("restore"),
};
