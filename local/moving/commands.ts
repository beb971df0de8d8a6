/** Implements the command line's actions on stores. */
import { resolve } from "node:path";
import { LOG_COLLECTION } from "../../lib/store/collections.ts";
import type { ExportEnd } from "../../lib/store/move/export_format.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import { exportStore } from "../../lib/changes/moving/export_store.ts";
import { readFence, unfenceStore } from "../../lib/changes/moving/fence.ts";
import { checkFile, loadFile } from "../../lib/changes/moving/import_store.ts";
import type { Destination, MoveResult } from "../../lib/changes/moving/load.ts";
import { migrate } from "../../lib/changes/moving/migrate.ts";
import { MoveRejected } from "../../lib/store/move/move_rejected.ts";
import { describeMoveState } from "../../lib/store/bulk_access.ts";
import { readLines, writeExport } from "./export_file.ts";
import { type Source, storeAddress, type StoreAddress } from "./store_addresses.ts";
import { sha256 } from "../node_ports.ts";
import type { VerbCall, Session } from "../command_line/verb.ts";

const deps = { clock: systemClock, sha256 };

/** Returns the text of an option. An option that takes a text is never `true`. */
const readText = (option: string | boolean | undefined): string | undefined => option as string | undefined;

const findState = ({ env }: Session, { options: { state, storeName } }: VerbCall): StoreAddress =>
  storeAddress(readText(state) ?? (env["SVC_STATE"] || "data/state.json"), env, {
    fromOption: readText(storeName),
    fromVariable: env["SVC_STORE_NAME"],
  });

/** Requires that a store has a log, since an empty one is probably a mistake. Errors: `MoveRejected`. */
async function requireLog({ from, name }: Source): Promise<void> {
  for await (const page of from.dump())
    if (page.some(({ collection, json }) => collection === LOG_COLLECTION && json)) return;
  throw new MoveRejected(`${name} has no log: it has nothing to move or to copy`);
}

/** Runs a move; if it fails after it fenced its source, the error says what to do next. */
async function explainFence<T>({ from, name }: Source, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const moveState = await from.moveState().catch(() => undefined);
    if (moveState?.state !== "moving" || !(error instanceof Error)) throw error;
    const advice = `${name} takes no writes now. Give the same command again, or give the move up: countersign unfence`;
    throw new MoveRejected(`${error.message}. ${advice}`, { cause: error });
  }
}

const formatLog = (log: MoveResult["log"] | ExportEnd): string =>
  log?.origin ? `log ${log.origin}, ${log.length} entries, head ${log.head}` : "it has no log";

/** Creates the command that writes the file of an export or a backup. */
export const makeFileWriter =
  (kind: "export" | "backup") =>
  async (session: Session, call: VerbCall): Promise<{ text: string }> => {
    const file = call.args["file"]!;
    const address = findState(session, call);
    const source = kind === "export" ? await address.openForMove() : await address.openForCopy();
    try {
      await requireLog(source);
      const to = `the file ${resolve(file)}`;
      const end = await explainFence(source, () => writeExport(file, () => exportStore(source, { kind, to }, deps)));
      const nextText =
        kind === "export"
          ? `${source.name} takes no more writes: countersign import ${file} --state …`
          : `${source.name} stays in use`;
      return { text: `${file}: ${formatLog(end)}\n${nextText}` };
    } finally {
      await source.close();
    }
  };

/** Loads data into a store; removes the data of an interrupted earlier run first. */
async function loadInto(
  address: StoreAddress,
  { options: { actor, force } }: VerbCall,
  from: string,
  load: (destination: Destination) => Promise<MoveResult>,
): Promise<{ text: string }> {
  let to = await address.openForLoad();
  try {
    const moveState = await to.bulk!.moveState();
    if (moveState?.state === "loading") {
      if (moveState.from !== from && !force)
        throw new MoveRejected(
          `${address.name} takes nothing: ${describeMoveState(moveState)}. Give that command again, or add --force to remove what it left`,
        );
      await to.bulk!.clear(moveState);
      // `clear` may close the store.
      await to.close();
      to = await address.openForLoad();
    }
    const { log } = await load({ to, name: address.name, actor: readText(actor) });
    return { text: `${address.name}: ${formatLog(log)}\nthe next entry records the move` };
  } finally {
    await to.close();
  }
}

/** Creates the command that loads a file into a store. */
export const makeFileLoader =
  (kind: "import" | "restore") =>
  async (session: Session, call: VerbCall): Promise<{ text: string }> => {
    const file = call.args["file"]!;
    const address = findState(session, call);
    // Opening a store may create it, so the file is checked first.
    const checked = await checkFile({ name: file, lines: readLines(file) }, kind, deps);
    return loadInto(address, call, checked.head.from, (destination) => loadFile(checked, destination, deps));
  };

/** Moves a store into another. */
export async function move(session: Session, call: VerbCall): Promise<{ text: string }> {
  const { from, to: destinationText } = call.args;
  const { fromName, toName } = call.options;
  const parseAddress = (text: string, name: string | boolean | undefined): StoreAddress =>
    // `SVC_STATE` goes with `SVC_STORE_NAME`.
    storeAddress(text, session.env, {
      fromOption: readText(name),
      fromVariable: text === "env:SVC_STATE" ? session.env["SVC_STORE_NAME"] : undefined,
    });
  const destination = parseAddress(destinationText!, toName);
  const source = await parseAddress(from!, fromName).openForMove();
  try {
    await requireLog(source);
    // Checked first, since opening the destination may create it.
    await readFence(source, destination.name);
    return await explainFence(source, () =>
      loadInto(destination, call, source.name, (to) => migrate(source, to, deps)),
    );
  } finally {
    await source.close();
  }
}

/** Cancels a move: its source accepts writes again. */
export async function unfence(session: Session, call: VerbCall): Promise<{ text: string }> {
  const source = await findState(session, call).openForMove();
  try {
    const { to } = await unfenceStore(source, { force: call.options["force"] === true });
    return { text: `${source.name} takes writes again; its move to ${to} is given up` };
  } finally {
    await source.close();
  }
}
