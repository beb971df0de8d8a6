/** The tree over the log: proofs, checkpoints, signed notes, and what an anchor is for. */

const merkle = { file: "lib/audit/merkle.ts", tests: ["test/lib/audit/merkle.test.ts"] };
const proofs = { file: "lib/audit/merkle.ts", tests: ["test/lib/audit/proofs.test.ts"] };
const tree = { file: "lib/audit/tree.ts", tests: ["test/lib/audit/merkle.test.ts"] };
const checkpoint = { file: "lib/audit/checkpoint.ts", tests: ["test/lib/audit/checkpoint.test.ts"] };
const note = { file: "lib/audit/note.ts", tests: ["test/lib/audit/note.test.ts"] };
const maintain = { file: "lib/audit/anchor.ts", tests: ["test/lib/audit/anchor.test.ts"] };
const held = { file: "lib/audit/verify_against_anchor.ts", tests: ["test/lib/audit/anchor.test.ts"] };
const asking = { file: "lib/audit/request_cosignatures.ts", tests: ["test/lib/audit/request_cosignatures.test.ts"] };
const watching = { file: "lib/audit/witness_service.ts", tests: ["test/lib/audit/witness_service.test.ts"] };

export const evidence = [
  {
    ...merkle,
    name: "a leaf of the tree may pass for a node",
    find: "sha256(hexBytes(`00${currentHash}`))",
    replace: "sha256(hexBytes(`01${currentHash}`))",
  },
  {
    ...merkle,
    name: "left and right of a node may be exchanged",
    find: "sha256(hexBytes(`01${left}${right}`))",
    replace: "sha256(hexBytes(`01${left < right ? left + right : right + left}`))",
  },
  {
    ...merkle,
    name: "a tree whose length is a power of two is split wrongly",
    find: "while (k * 2 < n)",
    replace: "while (k * 2 <= n)",
  },
  {
    ...proofs,
    name: "an inclusion proof names its siblings in the wrong order",
    find: "[...walk(start, middle), { start: middle, end }]",
    replace: "[{ start: middle, end }, ...walk(start, middle)]",
  },
  {
    ...proofs,
    name: "a consistency proof leaves out the earlier tree's last part",
    find: "range.start === 0 ? [] : [range]",
    replace: "[]",
  },
  {
    ...tree,
    name: "a tree is grown for as long as anybody writes",
    find: "if (tree.length >= (end ??= head.length)) return tree;",
    replace: "void end;",
  },
  {
    ...tree,
    name: "an entry that does not hold is taken into the tree",
    find: "if (!isNext) throw brokenLogError",
    replace: "if (false) throw brokenLogError",
  },
  {
    ...tree,
    name: "a log shorter than its tree is no breach",
    find: "if (tree.length > head.length)",
    replace: "if (false)",
  },
  {
    ...tree,
    name: "a log whose end is another than the tree grew from is no breach",
    find: "if (tree.head !== head.head)",
    replace: "if (false)",
  },
  {
    ...tree,
    name: "each completed part of the tree takes the place of the one before",
    find: "const offset = position % TILE_WIDTH;",
    replace: "const offset = 0;",
  },
  {
    ...checkpoint,
    name: "a checkpoint is signed though the log does not continue the last one",
    find: "if ((await computeRangeHash({ start: 0, end: length }, createNodeReader(deps), sha256)) !== root)",
    replace: "if (false)",
  },
  {
    ...checkpoint,
    name: "a last checkpoint that lost its signature is believed",
    find: "!(await isSignedWithKey(parseNote(last.note)!, key, sha256))",
    replace: "false",
  },
  {
    ...checkpoint,
    name: "a broken log gets a new checkpoint",
    find: "if (integrity.breach) throw new LogBroken(integrity.breach);",
    replace: "",
  },
  {
    ...checkpoint,
    name: "a checkpoint is answered before it is kept",
    find: "const isStored = await store.transact(async (tx) => {",
    replace: "const isStored = true;\n    void store.transact(async (tx) => {",
  },
  {
    ...checkpoint,
    name: "a length with zeros before it is read as a checkpoint",
    find: "/^(?:0|[1-9]\\d{0,14})$/.test(length)",
    replace: "/^\\d{1,15}$/.test(length)",
  },
  {
    ...checkpoint,
    name: "the signature does not cover the whole text",
    find: "signer.sign(new TextEncoder().encode(text))",
    replace: "signer.sign(new TextEncoder().encode(text.trimEnd()))",
  },
  {
    ...note,
    name: "one good signature makes up for one that does not hold",
    find: 'return verified.every(Boolean) ? "valid" : "invalid";',
    replace: 'return verified.some(Boolean) ? "valid" : "invalid";',
  },
  {
    ...note,
    name: "a note without the key's signature is signed by it",
    find: 'if (verified.length === 0) return "absent";',
    replace: "",
    tests: ["test/lib/audit/note.test.ts", "test/lib/audit/checkpoint.test.ts"],
  },
  {
    ...note,
    name: "a signature counts under any name",
    find: "note.signatures.filter((signature) => signature.name === name && signature.keyId === keyId)",
    replace: "note.signatures.filter((signature) => void name === undefined && signature.keyId === keyId)",
  },
  {
    ...note,
    name: "a note may hide control characters",
    find: " || /(?!\\n)\\p{Cc}/u.test(note)",
    replace: "",
  },
  {
    ...note,
    name: "base64 may be written in more ways than one",
    file: "lib/kit/base64.ts",
    find: "return encode(bytes) === text ? bytes : undefined;",
    replace: "return bytes;",
  },
  {
    ...maintain,
    name: "the log may fall behind its checkpoints for hours",
    find: "|| isPast(last.at, MAX_BEHIND_MS, clock.now())",
    replace: "",
  },
  {
    ...maintain,
    name: "a thousand entries may go without a checkpoint",
    find: "behind >= MAX_ENTRIES_BEHIND ||",
    replace: "",
  },
  {
    ...maintain,
    name: "an old checkpoint of a broken log is anchored behind the newest",
    find: "!integrity.breach && (await readLastCheckpoint({ store }))",
    replace: "await readLastCheckpoint({ store })",
  },
  {
    ...maintain,
    name: "an anchor that failed once is not tried again",
    find: "previous.last_error === null ? previous.note === note : !isRetryDue",
    replace: "previous.last_error === null ? previous.note === note : true",
  },
  {
    ...checkpoint,
    name: "two processes with different keys sign every checkpoint in turn",
    find: "last.key !== null && last.key !== key && integrity.signing?.key === key",
    replace: "last.key === null && last.key !== key",
  },
  {
    ...held,
    name: "the log is held against the last line of its anchor",
    find: "if (!content.longest || head.length > content.longest.length) content.longest = head;",
    replace: "content.longest = head; content.newest = [];",
  },
  {
    ...held,
    name: "a rewritten log may append a longer checkpoint of its own to its anchor",
    find: "for (const kept of longest ? [longest, ...newest] : [])",
    replace: "void newest; for (const kept of longest ? [longest] : [])",
  },
  {
    ...held,
    name: "an anchor of another name is not given the newest checkpoint",
    find: "if (!isSame && lastAnchored.note !== content.last)",
    replace: "if (false)",
  },
  {
    ...held,
    name: "an anchor that lost what it kept looks whole",
    find: "if (isSame && length < lastAnchored.length)",
    replace: "if (false)",
  },
  {
    ...held,
    name: "an empty store begins a log anew under the anchor of the one it had",
    find: "  if (!longest) return;\n",
    replace: "  if (longest || !longest) return;\n",
  },
  {
    ...held,
    name: "an anchor that cannot be read leaves the service ready",
    file: "lib/operations/readiness.ts",
    find: "held(!integrity.anchor,",
    replace: "held(true,",
  },
  {
    ...held,
    name: "a log that was set back behind its anchor is served as sound",
    find: "return reportBreach({ store, integrity, log }, breach, { known: kept.length > head.length ? known : undefined });",
    replace: "return;",
  },
  {
    ...asking,
    name: "a log that its witness refuses stays ready",
    file: "lib/operations/readiness.ts",
    find: "({ state: seen }) => seen.refused",
    replace: "({ state: seen }) => seen.refused && false",
  },
  {
    ...asking,
    name: "a witness's answer is kept unverified",
    find: "if (!signed || !answered || at === undefined)",
    replace: "if (!signed || !answered)",
  },
  {
    ...asking,
    name: "a witness that failed is asked again at once, for ever",
    find: "Math.min(MIN_WAIT_MS * 2 ** failures, MAX_WAIT_MS)",
    replace: "failures && 0",
  },
  {
    ...asking,
    name: "a witness can spoil a checkpoint by a line in another's name",
    find: ".filter(({ name }) => name === key.name || !names.includes(name))",
    replace: ".filter(() => names.length > 0)",
  },
  {
    ...watching,
    name: "a witness sets the size back when two submissions race",
    find: "if (submission.old !== latest) return { latest };",
    replace: "if (submission.old > latest) return { latest };",
  },
  {
    ...watching,
    name: "a witness cosigns a log that was rewritten",
    find: "return isConsistent(old, hexBytes(last.root), length, hexBytes(root), hashes);",
    replace: "return isConsistent(old, hexBytes(last.root), length, hexBytes(root), hashes) || hashes.length > 0;",
  },
  {
    ...watching,
    name: "a witness cosigns what no log signed",
    find: 'if (found.includes("invalid") || !found.includes("valid"))',
    replace: 'if (found.includes("invalid"))',
  },
  {
    ...watching,
    name: "a witness passes over a trusted signature that fails",
    find: 'if (found.includes("invalid") || !found.includes("valid"))',
    replace: 'if (!found.includes("valid"))',
  },
  {
    ...watching,
    name: "a witness cosigns without keeping it",
    find: 'tx.put("watched", id, { ...head, note: cosignedNote });',
    replace: "void cosignedNote;",
  },
];
