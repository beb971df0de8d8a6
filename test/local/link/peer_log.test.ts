/** Tests how a node notices that a peer's audit log was rewritten. */
import { afterEach, describe, expect, test } from "vitest";
import { storeCurrentCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { proveConsistency } from "../../../lib/audit/prove.ts";
import type { Deps } from "../../../lib/deps.ts";
import { copyStore } from "./copy_store.ts";
import {
  waitUntilLinked,
  type NodeOptions,
  restartNode,
  readPeerRow,
  startNode,
  stopAll,
  stopNode,
  type TestNode,
} from "./node.ts";

const at = (host: string) => ({ host, port: 0 });
const acme = { product_id: "acme", product_type: "crm" };
afterEach(stopAll);

describe("a peer's audit log", () => {
  const checkpointSource = (deps: Deps) => ({
    latest: () => storeCurrentCheckpoint(deps),
    consistency: async (from: number, to: number) => (await proveConsistency(deps, from, to)).proof,
  });
  const checkpointCases = [
    ["with checkpoints", { checkpoint: checkpointSource }],
    ["without checkpoints", {}],
  ] as const;

  test.each(checkpointCases)("%s: is consistent as it grows", async (_, checkpointOption) => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1"), ...checkpointOption });
    const peer = await startNode({ name: "2", ...acme, peers: [node.at] });
    await waitUntilLinked(node, peer);
    for (let round = 0; round < 3; round++) {
      await node.addOutcome({ target: `ui.t${round}` });
      await peer.link.sync();
    }
    expect(await readPeerRow(peer, node)).toMatchObject({ log: "consistent", log_reason: null });
  });

  test.each(checkpointCases)(
    "%s: is reported as rewritten after its node restarts from an older copy and appends other entries",
    async (_, checkpointOption) => {
      const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1"), ...checkpointOption });
      const peer = await startNode({ name: "2", ...acme, peers: [node.at] });
      await waitUntilLinked(node, peer);
      await node.addOutcome();
      const backup = await copyStore(node.deps.store);
      await node.addOutcome({ target: "ui.second" });
      await peer.link.sync();
      await stopNode(node);

      const linesBefore = peer.log.lines.length;
      const restored = await restartNode(node, { store: backup });
      await peer.log.waitForLine("link down");
      // The peer connects again within a second.
      peer.time.advance(1_000);
      await peer.log.waitForLine("link up", linesBefore);
      await peer.link.sync();
      expect(await readPeerRow(peer, restored)).toMatchObject({
        log: "rewritten",
        log_reason: expect.stringMatching(/had \d+ entries/),
      });

      await restored.addOutcome({ target: "ui.other" });
      await restored.addOutcome({ target: "ui.another" });
      await peer.link.sync();
      expect(await readPeerRow(peer, restored)).toMatchObject({
        log: "rewritten",
        log_reason: expect.stringMatching(/entry|proof/),
      });
      const noticeKinds = (await peer.deps.store.list("notices", { limit: 100 })).map(({ value }) => value.kind);
      expect(noticeKinds.filter((kind) => kind === "peer_log_rewritten")).toHaveLength(1);
      expect(peer.link.capability()).toMatchObject({
        status: "degraded",
        reason: "the audit log was rewritten at: acme@1",
      });
      expect((await peer.get("/api/metrics")).text).toMatch(/^countersign_peer_logs_rewritten 1$/m);
    },
  );

  test.each(checkpointCases)(
    "%s: stays reported as rewritten without a checkpoint, and with another peer_id",
    async (_, checkpointOption) => {
      const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1"), ...checkpointOption });
      const peer = await startNode({ name: "2", ...acme, peers: [node.at] });
      await waitUntilLinked(node, peer);
      await node.addOutcome();
      const backup = await copyStore(node.deps.store);
      await node.addOutcome({ target: "ui.second" });
      await peer.link.sync();
      await backup.transact((tx) => tx.put("meta", "peer_id", { peer_id: "0".repeat(32) }));
      const restartFromBackup = async (running: TestNode, options: Partial<NodeOptions>): Promise<TestNode> => {
        const linesBefore = peer.log.lines.length;
        await stopNode(running);
        await peer.log.waitForLine("link down", linesBefore);
        const restarted = await restartNode(running, { store: backup, ...options });
        peer.time.advance(1_000);
        await peer.log.waitForLine("link up", linesBefore);
        await peer.link.sync();
        return restarted;
      };
      const renamed = await restartFromBackup(node, {});
      expect(renamed.link.self.peer_id).not.toBe(node.link.self.peer_id);
      expect(await readPeerRow(peer, renamed)).toMatchObject({ log: "rewritten" });
      const rows = await peer.deps.store.list("notices", { limit: 100 });
      expect(rows.find(({ value }) => value.kind === "peer_log_rewritten")!.value.detail).toMatch(
        /had \d+ entries.*, by what acme@1 reported of it$/,
      );

      const failingSource = { latest: () => Promise.reject(new Error("no")), consistency: () => Promise.resolve([]) };
      const withBrokenProofs = await restartFromBackup(renamed, { checkpoint: () => failingSource });
      expect(await readPeerRow(peer, withBrokenProofs)).toMatchObject({ log: "rewritten" });
    },
  );
});
