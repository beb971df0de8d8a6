/** Runs each defence against each attack; UPDATE_GOLDEN=1 writes the table of `docs/tampering.md`. */
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
import { openDeps } from "../support/deps.ts";
import { type Attack, ATTACKS, listOfferedCheckpoints, attackStore } from "./attacks.ts";
import { exportLog } from "./real_log.ts";
import { verify } from "./verifiers.ts";
import { makeCheckpoint, makeWorld, parse, makeReceipt, makeSigner, type World, write } from "./world.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: World;
beforeAll(async () => void (world = await makeWorld()));

/** The input of a defence: the export and the store after the attack. */
interface AttackedLog {
  attack: Attack;
  log: string;
  store: Store;
}

const isBad = async (log: string, evidence: LogState[] = []) => (await verify(log, evidence)).verdict === "bad";

/** Returns a checkpoint for the verifier, or undefined if the service did not sign it. */
function parseSigned(note: string): LogState | undefined {
  const checkpoint = parseCheckpoint(note)!;
  const signer = findSigner(checkpoint, parseKey(world.key.pem)!);
  return signer === undefined ? undefined : { ...checkpoint, description: "a checkpoint" };
}

/** Starts a service on the store, and returns whether its own checks or its anchor detect the attack. */
async function isDetectedByService(store: Store, note?: string): Promise<boolean> {
  const { clock, ids } = world.deps;
  const deps = { ...(await openDeps({ store, clock, ids })), checkpointSigner: makeSigner(world.key) };
  if (note === undefined) {
    await verifyChain(deps);
    // Records that cannot be compared count as detected.
    const { mismatched } = await reconcile(deps).catch(() => ({ mismatched: 1 }));
    // Rejects once it has reported a breach, which the next line reads.
    await storeCurrentCheckpoint(deps).catch(() => undefined);
    return deps.integrity.breach !== undefined || mismatched > 0;
  }
  // Only the anchor is judged here; it is not compared if a breach is already known.
  delete deps.integrity.breach;
  await verifyAgainstAnchor({ ...deps, anchor: makeAnchor(note) });
  return deps.integrity.breach !== undefined;
}

/** The columns of the table; each function returns whether the defence detects the attack. The true log has 200 entries. */
const DEFENCES: Record<string, (attacked: AttackedLog) => Promise<boolean>> = {
  "the export alone": ({ log }) => isBad(log),
  "an early receipt": ({ log }) => isBad(log, [makeReceipt(world.entries, 60)]),
  "the last receipt": ({ log }) => isBad(log, [makeReceipt(world.entries, 200)]),
  "an early checkpoint": ({ log }) => isBad(log, [parseSigned(makeCheckpoint(world.entries, 100, world.key))!]),
  "the last checkpoint": ({ log }) => isBad(log, [parseSigned(world.note)!]),
  "a signed checkpoint fetched afterwards": async ({ attack, log }) => {
    const caught = listOfferedCheckpoints(attack, world, parse(log)).map(async (note) => {
      const checkpoint = parseSigned(note);
      // A checkpoint that the service did not sign is recognized by its signature.
      return checkpoint ? isBad(log, [checkpoint]) : true;
    });
    return (await Promise.all(caught)).every(Boolean);
  },
  "the service itself": ({ store }) => isDetectedByService(store),
  "its anchor, at start": ({ store }) => isDetectedByService(store, world.note),
};

/** Makes the table as Markdown. */
async function makeTable(): Promise<string> {
  const rows: string[][] = [];
  for (const attack of ATTACKS) {
    const attackLog = async (): Promise<AttackedLog> => {
      const store = await attackStore(attack, world);
      return { attack, store, log: await exportLog(store) };
    };
    const cells: string[] = [];
    for (const defence of Object.values(DEFENCES)) cells.push((await defence(await attackLog())) ? "caught" : "–");
    rows.push([attack.title, ...cells]);
  }
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const head = ["what was done", ...Object.keys(DEFENCES)];
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

test("the table in docs/tampering.md matches the outcomes", async () => {
  const file = join(import.meta.dirname, "../../docs/tampering.md");
  const text = readFileSync(file, "utf8");
  const [marked, documented = ""] = /<!-- tamper table -->\n+([^]*?)\n+<!-- end of tamper table -->/.exec(text) ?? [];
  const plain = (table: string) => table.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");
  const table = await makeTable();
  if (process.env["UPDATE_GOLDEN"] === "1")
    writeFileSync(file, text.replace(marked!, marked!.replace(documented, table)));
  else expect(plain(documented)).toBe(table);
});

test("exports and checkpoints made by these tests equal those of the service", async () => {
  expect(write(world.entries)).toBe(await exportLog(world.deps.store));
  expect(world.note).toBe(makeCheckpoint(world.entries, 200, world.key));
});
