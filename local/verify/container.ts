/** Splits the file of a certificate into its parts; each part is preceded by its name and length. */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";

/** The parts of a certificate, as text. */
export interface CertificateParts {
  /** After an erasure, the remaining fields. */
  content: string;
  isErased: boolean;
  intents: string[];
  /** Each is the text of a C2SP `tlog-proof` file. */
  proofs: string[];
}

const HEAD = "countersign-certificate/v1\n";
/** The head of a part: its name and its length, at most 20 bytes. */
const PART = /^(content|erased|intent|proof) ([1-9]\d{0,8})\n/;
/** One content (complete or erased), then any number of intents, then at least one proof. */
const ORDER = /^(?:content|erased)( intent)*( proof)+$/;

/** Splits a file; undefined when it is not exactly in the form of a certificate. */
export function readParts(file: Buffer): CertificateParts | undefined {
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
  const listTexts = (wanted: string) => parts.flatMap(({ name, text }) => (name === wanted ? [text] : []));
  const dropLineEnd = (text: string) => text.slice(0, -1);
  const isErased = parts[0]!.name === "erased";
  return {
    content: dropLineEnd(parts[0]!.text),
    isErased,
    intents: listTexts("intent").map(dropLineEnd),
    proofs: listTexts("proof"),
  };
}

/** Lists the parts of a certificate as separate files: JSON, and C2SP `tlog-proof`. */
export function listFiles(file: Buffer): [name: string, text: string][] {
  const { content, isErased, intents, proofs } = readParts(file)!;
  return [
    [isErased ? "erased.json" : "content.json", content],
    ...intents.map((text): [string, string] => [`intent-${hash("sha256", text, "hex")}.json`, text]),
    ...proofs.map((text): [string, string] => [`${Number(/\nindex (\d+)/.exec(text)?.[1] ?? 0) + 1}.tlog-proof`, text]),
  ];
}
