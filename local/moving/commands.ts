/** What the verbs that work on stores do. */
import type { ExportEnd } from "../../lib/store/move/export_format.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import type { Destination, Moved } from "../../lib/governance/moving/arrive.ts";
import { exportStore } from "../../lib/governance/moving/export_store.ts";
import { importStore } from "../../lib/governance/moving/import_store.ts";
import { migrate } from "../../lib/governance/moving/migrate.ts";
import { readLines, writeExport } from "./export_file.ts";
import { storeAddress, type StoreAddress } from "./store_addresses.ts";
import { sha256 } from "../node_ports.ts";
import type { Environment } from "../secrets.ts";
import type { Given, Session } from "../command_line/verb.ts";

const deps = { clock: systemClock, sha256 };

const stateOf = ({ env }: Session, { options: { state } }: Given): StoreAddress =>
  storeAddress((state as string | undefined) ?? (env["SVC_STATE"] || "data/state.json"), env);

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
export const loadedFrom =
  (how: "import" | "restore") =>
  (session: Session, given: Given): Promise<{ text: string }> => {
    const file = given.args["file"]!;
    const lines = readLines(file);
    return loaded(stateOf(session, given), given, (destination) =>
      importStore({ name: file, lines }, how, destination, deps),
    );
  };

/** Moves a store into another. */
export async function move({ env }: { env: Environment }, given: Given): Promise<{ text: string }> {
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
