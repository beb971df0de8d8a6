/** Valid names of self-evolution files, and the kind of file that a name denotes. */
import type { EvolvedFile } from "./deps.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Returns true if a text is a valid name of a self-evolution file. */
export const isEvolvedName = (text: string): boolean => NAME.test(text);

/** Returns the kind of a file from its name; files of the kind `other` are listed, and never changed. */
export function evolvedKind(name: string): EvolvedFile["kind"] {
  const kind = /^(retrospective|report)-.+\.md$/.exec(name)?.[1];
  return (kind as EvolvedFile["kind"] | undefined) ?? "other";
}
