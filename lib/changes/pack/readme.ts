/** Formats the README of a pack. */
import type { Scope } from "./scope.ts";

/** Returns the title of a pack: its scope in words. */
export const packTitle = (scope: Scope): string =>
  "change_id" in scope
    ? `The change ${scope.change_id}`
    : `What happened from ${scope.from} ${scope.to === undefined ? "on" : `until before ${scope.to}`}`;

/** Commands that verify a pack, and the facts that each of them shows. */
export const VERIFICATION_COMMANDS: readonly (readonly [command: string, shows: string])[] = [
  [
    "countersign-verify certificate certificates/chg_….certificate --intents intents --policy POLICY",
    "who decided what on one change, with which key, under which intent, in a log that your policy trusts; python3 verify_audit.py certificate does the same in other code",
  ],
  ["sha256sum contents/chg_….json", "the digest in each entry about the change: what was consented to"],
  ["sha256sum intents/….json", "the file's name, and the manifest_hash of the entries decided under that intent"],
  [
    "countersign-verify evidence.jsonl --changes --checkpoint checkpoint.txt --key PUBLIC_KEY",
    "the whole log with all contents, from GET /api/product/export, against the checkpoint of this pack: that nothing was left out between these entries",
  ],
];

/** Returns the text of README.txt. */
export const formatReadme = (scope: Scope): string =>
  [
    `${packTitle(scope)}: an auditor's pack of Countersign`,
    "",
    "entries/        entries of the audit log, one a line, exactly as the service writes them",
    "contents/       what each change is about (RFC 8785 JSON); .erased.json is what an erasure left of it",
    "intents/        the rules that decisions were made under, each by its SHA-256",
    "certificates/   one file a change that proves its decisions, under the intents above; .none.txt says why there is none",
    "checkpoint.txt  the log's length and Merkle root when this was made, with its signatures, if any",
    "",
    "How it is checked, without the service:",
    "",
    ...VERIFICATION_COMMANDS.flatMap(([command, shows]) => [`  ${command}`, `      shows ${shows}.`, ""]),
    "POLICY (a C2SP tlog-policy) and PUBLIC_KEY must reach you by another way than this file: whoever made the pack could",
    "have made them too. What each of these proves and does not prove: docs/evidence.md.",
    "",
  ].join("\n");
