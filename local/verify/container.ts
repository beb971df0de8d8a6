/** A certificate's file, taken apart: named parts behind their lengths. */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";

/** The parts of a certificate, as text. */
export interface Parts {
  /** The rest of it, where it was erased. */
  content: string;
  isErased: boolean;
  intents: string[];
  /** Each is a file of C2SP `tlog-proof` by itself. */
  proofs: string[];
}

const HEAD = "countersign-certificate/v1\n";
const PART = /^(content|erased|intent|proof) ([1-9]\d{0,8})\n/;
/** The content or what is left of it, then intents, then proofs; one of the first and one of the last at least. */
const ORDER = /^(?:content|erased)( intent)*( proof)+$/;

/** Takes a file apart; undefined when it is no certificate in the one form that there is. */
export function readParts(file: Buffer): Parts | undefined {
  if (!isUtf8(file) || !file.subarray(0, HEAD.length).equals(Buffer.from(HEAD))) return undefined;
  const parts: { name: string; text: string }[] = [];
  for (let at = HEAD.length; at < file.length;) {
    const [head, name, length] = PART.exec(file.toString("latin1", at, at + 20)) ?? [];
    if (head === undefined) return undefined;
    const end = at + head.length + Number(length);
    const text = file.toString("utf8", at + head.length, end);
    if (end > file.length || !text.endsWith("\n")) return undefined;
    parts.push({ name: name!, text });
    at = end;
  }
  if (!ORDER.test(parts.map(({ name }) => name).join(" "))) return undefined;
  const named = (wanted: string) => parts.flatMap(({ name, text }) => (name === wanted ? [text] : []));
  const json = (text: string) => text.slice(0, -1);
  const isErased = parts[0]!.name === "erased";
  return { content: json(parts[0]!.text), isErased, intents: named("intent").map(json), proofs: named("proof") };
}

/** The parts of a certificate as files of their own: JSON, and C2SP `tlog-proof`. */
export function listFiles(file: Buffer): [name: string, text: string][] {
  const { content, isErased, intents, proofs } = readParts(file)!;
  return [
    [isErased ? "erased.json" : "content.json", content],
    ...intents.map((text): [string, string] => [`intent-${hash("sha256", text, "hex")}.json`, text]),
    ...proofs.map((text): [string, string] => [`${Number(/\nindex (\d+)/.exec(text)?.[1] ?? 0) + 1}.tlog-proof`, text]),
  ];
}
