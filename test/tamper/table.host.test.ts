/** Outcomes of each measure against each attack; UPDATE_GOLDEN=1 writes the table of `docs/tampering.md`. */
import { makeAnchor } from "../support/anchor.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { storeCurrentCheckpoint } from "../../lib/audit/checkpoint.ts";
import { verifyAgainstAnchor } from "../../lib/audit/verify_against_anchor.ts";
import { reconcile } from "../../lib/changes/reconcile.ts";
import { verifyChain } from "../../lib/audit/verify.ts";
import type { Store } from "../../lib/store/store.ts";
import type { LogState } from "../../local/verify/evidence.ts";
import { parseCheckpoint, parseKey, findSigner } from "../../local/verify/note.ts";
import { opened } from "../support/deps.ts";
import { type Attack, ATTACKS, offered, attackStore } from "./attacks.ts";
import { exportLog } from "./real_log.ts";
import { verify } from "./verifiers.ts";
import { makeCheckpoint, makeWorld, parse, makeReceipt, makeSigner, type World, write } from "./world.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: World;
beforeAll(async () => void (world = await makeWorld()));

/** The input of a measure: the log afterwards, and its store. */
interface Scene {
  attack: Attack;
  log: string;
  store: Store;
}

const bad = async (log: string, kept: LogState[] = []) => (await verify(log, kept)).verdict === "bad";

/** A checkpoint as the verifier takes it, or undefined when it does not bear the service's signature. */
function signed(note: string): LogState | undefined {
  const checkpoint = parseCheckpoint(note)!;
  const signer = findSigner(checkpoint, parseKey(world.key.pem)!);
  return signer === undefined ? undefined : { ...checkpoint, description: "a checkpoint" };
}

/** A service started on the store: does it notice, by its own means? */
async function noticed(store: Store, note?: string): Promise<boolean> {
  const { clock, ids } = world.deps;
  const deps = { ...(await opened({ store, clock, ids })), checkpointSigner: makeSigner(world.key) };
  if (note === undefined) {
    await verifyChain(deps);
    const { mismatched } = await reconcile(deps).catch(() => ({ mismatched: 1 }));
    await storeCurrentCheckpoint(deps).catch(() => undefined);
    return deps.integrity.breach !== undefined || mismatched > 0;
  }
  delete deps.integrity.breach;
  await verifyAgainstAnchor({ ...deps, anchor: makeAnchor(note) });
  return deps.integrity.breach !== undefined;
}

/** The columns. An answer is whether the defence says that something is wrong. */
const DEFENCES: Record<string, (scene: Scene) => Promise<boolean>> = {
  "the export alone": ({ log }) => bad(log),
  "an early receipt": ({ log }) => bad(log, [makeReceipt(world.entries, 60)]),
  "the last receipt": ({ log }) => bad(log, [makeReceipt(world.entries, 200)]),
  "an early checkpoint": ({ log }) => bad(log, [signed(makeCheckpoint(world.entries, 100, world.key))!]),
  "the last checkpoint": ({ log }) => bad(log, [signed(world.note)!]),
  "a signed checkpoint fetched afterwards": async ({ attack, log }) => {
    const caught = offered(attack, world, parse(log)).map(async (note) => {
      const kept = signed(note);
      return kept ? bad(log, [kept]) : true;
    });
    return (await Promise.all(caught)).every(Boolean);
  },
  "the service itself": ({ store }) => noticed(store),
  "its anchor, at start": ({ store }) => noticed(store, world.note),
};

/** The table as Markdown. */
async function makeTable(): Promise<string> {
  const rows: string[][] = [];
  for (const attack of ATTACKS) {
    const scene = async (): Promise<Scene> => {
      const store = await attackStore(attack, world);
      return { attack, store, log: await exportLog(store) };
    };
    const cells: string[] = [];
    for (const defence of Object.values(DEFENCES)) cells.push((await defence(await scene())) ? "caught" : "–");
    rows.push([attack.what, ...cells]);
  }
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const head = ["what was done", ...Object.keys(DEFENCES)];
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

test("the table in docs/tampering.md is what happens", async () => {
  const file = join(import.meta.dirname, "../../docs/tampering.md");
  const text = readFileSync(file, "utf8");
  const [between, documented = ""] = /<!-- tamper table -->\n+([^]*?)\n+<!-- end of tamper table -->/.exec(text) ?? [];
  const plain = (table: string) => table.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");
  const table = await makeTable();
  if (process.env["UPDATE_GOLDEN"] === "1")
    writeFileSync(file, text.replace(between!, between!.replace(documented, table)));
  else expect(plain(documented)).toBe(table);
});

test("the untampered log passes whole, and is what the checkpoints written here say", async () => {
  expect(write(world.entries)).toBe(await exportLog(world.deps.store));
  expect(world.note).toBe(makeCheckpoint(world.entries, 200, world.key));
});
