/** How self-evolution files are called, and what the service's own names say. */
import type { EvolvedFile } from "./deps.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether a text may be the name of such a file. */
export const isEvolvedName = (text: string): boolean => NAME.test(text);

/** What the service names its files; others are shown, and left alone. */
export function evolvedKind(name: string): EvolvedFile["kind"] {
  const kind = /^(retrospective|report)-.+\.md$/.exec(name)?.[1];
  return (kind as EvolvedFile["kind"] | undefined) ?? "other";
}
