/** The link between nodes: frames, handshake, sealed session, and what a node believes of its peers. */

const SESSION = ["test/lib/link/session.test.ts"];
const CONNECTION = ["test/local/link/connection.test.ts"];
const frames = { file: "lib/link/frames.ts", tests: ["test/lib/link/frames.test.ts"] };
const keys = { file: "lib/link/keys.ts", tests: ["test/lib/link/vectors.test.ts", ...SESSION] };
const seal = { file: "lib/link/seal.ts", tests: SESSION };
const session = { file: "lib/link/session.ts", tests: SESSION };
const log = { file: "lib/link/peer_log.ts", tests: ["test/lib/link/peer_log.test.ts"] };
const registry = { file: "lib/link/registry.ts", tests: ["test/lib/link/registry.test.ts"] };
const answer = { file: "lib/link/answer_peer.ts", tests: ["test/lib/link/answer_peer.test.ts"] };
const connection = { file: "local/link/connection.ts", tests: CONNECTION };
const admission = { file: "local/link/admission.ts", tests: ["test/local/link/admission.test.ts"] };

export const link = [
  {
    ...frames,
    name: "a frame of any length is made room for",
    find: "if (length < 1 || length > limit)",
    replace: "if (length < 1)",
  },
  {
    ...session,
    name: "a stranger's frames may be as long as a peer's",
    find: "reader.next(seal ? MAX_PROVEN_BYTES : MAX_UNPROVEN_BYTES)",
    replace: "reader.next(MAX_PROVEN_BYTES)",
  },
  {
    ...session,
    name: "a client that does not hold the secret is let in",
    find: 'if (!equalBytes(proof, clientProof(key, transcript))) throw new Violation("the client does not hold the secret");',
    replace: "",
  },
  {
    ...session,
    name: "a server that does not hold the secret is believed",
    find: "if (!equalBytes(readProof(answer), serverProof(ownKey.key, transcript, proof)))",
    replace: "if (readProof(answer).length !== 32)",
  },
  {
    ...session,
    name: "a node talks to itself",
    find: "if (peer.peer_id === self.peer_id)",
    replace: "if (false)",
  },
  {
    ...session,
    name: "only the first secret is accepted, so that none can be exchanged",
    find: "const key = keys.find((known) => known.kid === kid)?.key;",
    replace: "const key = keys.slice(0, 1).find((known) => known.kid === kid)?.key;",
  },
  {
    ...session,
    name: "both directions are sealed with one key",
    find: 'role === "client" ? [directions.client, directions.server] : [directions.server, directions.client];',
    replace: "[directions.client, directions.client];",
  },
  {
    ...session,
    name: "a connection goes on after a violation",
    find: "        over = true;\n",
    replace: "",
  },
  {
    ...keys,
    name: "a server's proof may be the client's own, sent back",
    find: 'hmac(sha256, key, concatBytes(utf8ToBytes("server"), transcript, client));',
    replace: 'hmac(sha256, key, concatBytes(utf8ToBytes("client"), transcript));',
  },
  {
    ...keys,
    name: "a proof does not cover who the ends said they are",
    find: "sha256(concatBytes(PROTOCOL, hello, challenge))",
    replace: "sha256(concatBytes(PROTOCOL, hello.slice(-70), challenge.slice(-70)))",
  },
  {
    ...seal,
    name: "a frame may be changed on its way",
    find: "if (!equalBytes(mac(bytes.subarray(0, -TAG_BYTES)), bytes.subarray(-TAG_BYTES)))",
    replace: "if (false)",
  },
  {
    ...seal,
    name: "a frame may come twice",
    find: "if (view.getUint32(0) * HIGH + view.getUint32(4) !== sequence)",
    replace: "if (false)",
  },
  {
    name: "a payload may be nested without end",
    file: "lib/link/payload.ts",
    find: "if (isDeeper(value, DEEPEST))",
    replace: "if (false)",
    tests: SESSION,
  },
  {
    ...log,
    name: "a peer's log that became shorter is consistent",
    find: "if (told.length < kept.length) return differs",
    replace: "if (false) return differs",
  },
  {
    ...log,
    name: "a peer's log that was rewritten is consistent",
    find: "if (told.head_at_from !== null && told.head_at_from !== kept.head)",
    replace: "if (false)",
  },
  {
    ...log,
    name: "a peer's growth need not be proven",
    find: "if (!isGrowthProven(kept, keep, told.proof ?? []))",
    replace: "void isGrowthProven; if (false)",
  },
  {
    ...log,
    name: "a peer that gives no checkpoints any more is consistent",
    find: 'if (keep.root === null) return unproven("the peer gave checkpoints before and gives none now");\n    if',
    replace: "if (keep.root !== null) if",
  },
  {
    name: "a proof of consistency holds for any earlier root",
    file: "lib/audit/consistency.ts",
    find: "equalBytes(before, firstRoot) && equalBytes(after, secondRoot)",
    replace: "equalBytes(after, secondRoot)",
    tests: ["test/lib/link/peer_log.test.ts"],
  },
  {
    name: "a peer that was found out is cleared by telling nothing",
    file: "lib/link/sync.ts",
    find: 'if (!judged || (before?.log === "rewritten" && judged.log === "unknown")) return;',
    replace: "if (!judged) return;",
    tests: ["test/local/link/peer_log.test.ts"],
  },
  {
    ...registry,
    name: "a peer may speak for another",
    find: "if (insight.origin_instance_id !== peer.instance_id)",
    replace: "if (false)",
  },
  {
    ...registry,
    name: "a peer may change another's insight",
    find: "if (before && before.peer_id !== own.peer_id) return",
    replace: "if (false) return",
  },
  {
    ...registry,
    name: "the words of a peer are kept",
    find: "{ ...told, summary: insightSummary(told), ...own }",
    replace: "{ ...told, ...own }",
  },
  {
    ...registry,
    name: "one peer pushes out what all others told",
    find: "kept.findLastIndex(({ peer_id }) => peer_id === largest)",
    replace: "kept.length - 1",
  },
  {
    name: "a peer of another product is trusted",
    file: "lib/link/trust.ts",
    find: "same_product_type: 0.55, other: 0 }",
    replace: "same_product_type: 0.55, other: 0.1 }",
    tests: ["test/lib/link/insight.test.ts", "test/lib/link/registry.test.ts"],
  },
  {
    name: "a peer may read any endpoint",
    file: "lib/link/messages.ts",
    find: "z.enum(READ_PATHS)",
    replace: "z.string()",
    tests: ["test/lib/link/answer_peer.test.ts"],
  },
  {
    ...answer,
    name: "a peer of another product reads the insights of this one",
    find: "const related = trustWeight(findRelation(self, peer)) > 0;",
    replace: "const related = true;",
  },
  {
    name: "an insight names its tenant",
    file: "lib/link/insight.ts",
    find: "    ...facts,\n    summary: insightSummary(facts),",
    replace:
      "    ...facts,\n    ...({ tenant_id: (change as Change).tenant_id } as object),\n    summary: insightSummary(facts),",
    tests: ["test/lib/link/insight.test.ts", "test/lib/link/shared.test.ts"],
  },
  {
    ...connection,
    name: "a stranger may take as long as it likes to prove itself",
    find: 'timers.after(LIMITS.handshake, () => close("the handshake took too long"))',
    replace: "timers.after(1e9, () => {})",
  },
  {
    ...connection,
    name: "a dead peer is waited for",
    find: 'if (silence >= LIMITS.deadAfter) return close("nothing came from the other end");',
    replace: "",
  },
  {
    ...connection,
    name: "a peer that does not read fills the memory",
    find: "if (socket.writableLength > LIMITS.unsent)",
    replace: "if (false)",
  },
  {
    ...connection,
    name: "a peer may have any number of requests answered at once",
    find: "if (answering >= LIMITS.answering)",
    replace: "if (false)",
  },
  {
    ...connection,
    name: "a question to a broken connection waits for ever",
    find: 'question.reject(new LinkError("peer_unreachable", "the connection was closed"));',
    replace: "",
  },
  {
    ...admission,
    name: "strangers of one address take all the room",
    find: "        limits.perAddress,",
    replace: "        Infinity,",
  },
  {
    ...admission,
    name: "an overheard name keeps others out",
    find: "among.find(({ greeted }) => !greeted) ?? among[0]!",
    replace: "among.find(({ greeted }) => !greeted) ?? among.at(-1)!",
  },
];
