/** What the verbs that work on stores do. */
import { resolve } from "node:path";
import type { ExportEnd } from "../../lib/store/move/export_format.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import type { Destination, Moved } from "../../lib/governance/moving/arrive.ts";
import { exportStore } from "../../lib/governance/moving/export_store.ts";
import { checkFile, loadFile } from "../../lib/governance/moving/import_store.ts";
import { migrate, requireMovable } from "../../lib/governance/moving/migrate.ts";
import { MoveRefused } from "../../lib/store/move/refused_move.ts";
import type { Loading } from "../../lib/store/whole.ts";
import { readLines, writeExport } from "./export_file.ts";
import { type Source, storeAddress, type StoreAddress } from "./store_addresses.ts";
import { sha256 } from "../node_ports.ts";
import type { Given, Session } from "../command_line/verb.ts";

const deps = { clock: systemClock, sha256 };

const textIn = (given: string | boolean | undefined): string | undefined => given as string | undefined;

const stateOf = ({ env }: Session, { options: { state, storeName } }: Given): StoreAddress =>
  storeAddress(textIn(state) ?? (env["SVC_STATE"] || "data/state.json"), env, {
    given: textIn(storeName),
    usual: env["SVC_STORE_NAME"],
  });

/** Throws `MoveRefused` where no log was begun in a store: another than was meant. */
async function requireLog({ from, name }: Source): Promise<void> {
  for await (const page of from.dump()) if (page.some(({ collection, json }) => collection === "audit" && json)) return;
  throw new MoveRefused(`no log was begun in ${name}: it has nothing to move or to copy`);
}

const logText = (log: Moved["log"] | ExportEnd): string =>
  log?.origin ? `log ${log.origin}, ${log.length} entries, head ${log.head}` : "no log was begun in it";

/** Writes a file of a store. */
export const fileOf =
  (kind: "export" | "backup") =>
  async (session: Session, given: Given): Promise<{ text: string }> => {
    const file = given.args["file"]!;
    const address = stateOf(session, given);
    const source = kind === "export" ? await address.departed() : await address.copied();
    try {
      await requireLog(source);
      const end = await writeExport(file, (durable) =>
        exportStore(source, { kind, to: `the file ${resolve(file)}`, durable }, deps),
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

/** A move that was heard of so lately may be under way. */
const ALIVE_MS = 5 * 60_000;

/** Where a store is loaded from, and whether a move that has not ended is ended by this, and not begun anew. */
interface Loaded {
  from: string;
  load(destination: Destination): Promise<Moved>;
  resumed?(move: string): Promise<boolean>;
}

/** Loads a store. What the same command left in it when it broke, which nobody was shown, is taken out first. */
async function loaded(
  address: StoreAddress,
  { now }: Pick<Session, "now">,
  { options: { actor, force } }: Given,
  { from, load, resumed = async () => false }: Loaded,
): Promise<{ text: string }> {
  let to = await address.opened();
  try {
    const left = await to.whole!.mark();
    if (left?.state === "loading" && !(await resumed(left.move))) {
      if (!force) requireLeft(address, left, from, now());
      await to.whole!.clear(left);
      await to.close();
      to = await address.opened();
    }
    const { log } = await load({ to, name: address.name, actor: textIn(actor) });
    return { text: `${address.name}: ${logText(log)}\nand behind it the entry of the move` };
  } finally {
    await to.close();
  }
}

/** Throws `MoveRefused` where what a move left may be of use: to whoever gave it, or as that one is still at it. */
function requireLeft({ name, isSole }: StoreAddress, left: Loading, from: string, now: number): void {
  const what = `${name} takes nothing: a move into it, from ${left.from}, has not ended`;
  if (left.from !== from)
    throw new MoveRefused(`${what}. Give that command again, or this one with --force, which takes out what it left`);
  const over = Date.parse(left.at) + ALIVE_MS;
  if (!isSole && now < over)
    throw new MoveRefused(
      `${what}, and was under way at ${left.at}. Where its process is gone, add --force, or wait until ${new Date(over).toISOString()}`,
    );
}

/** Reads a file into a store. */
export const loadedFrom =
  (how: "import" | "restore") =>
  async (session: Session, given: Given): Promise<{ text: string }> => {
    const file = given.args["file"]!;
    const address = stateOf(session, given);
    // Before the store is opened, which may make it.
    const checked = await checkFile({ name: file, lines: readLines(file) }, how, deps);
    return loaded(address, session, given, {
      from: file,
      load: (destination) => loadFile(checked, destination, deps),
    });
  };

/** Moves a store into another. */
export async function move(session: Session, given: Given): Promise<{ text: string }> {
  const { from: here, to: there } = given.args;
  const { fromName, toName } = given.options;
  const address = (text: string, name: string | boolean | undefined): StoreAddress =>
    // What the service is started with is one: the address and the name.
    storeAddress(text, session.env, {
      given: textIn(name),
      usual: text === "env:SVC_STATE" ? session.env["SVC_STORE_NAME"] : undefined,
    });
  const [left, destination] = [address(here!, fromName), address(there!, toName)];
  const source = await left.departed();
  try {
    await requireLog(source);
    // Before the destination is opened, which may make it.
    await requireMovable(source, destination);
    return await loaded(destination, session, given, {
      from: source.name,
      load: (to) => migrate(source, to, deps),
      // A move that was fenced and lacks its end is ended, and not begun anew.
      resumed: async (id) => (await source.from.mark())?.move === id,
    });
  } finally {
    await source.close();
  }
}
