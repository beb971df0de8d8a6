/**
 * Ids, hashes and ports that a document shows stand for those of this run. They are learnt from what
 * comes, and put into the commands that follow, so that a story runs as written.
 */

/** Patterns of values that differ between runs; an ellipsis shortens a value, or stands for anything. */
const VARYING = new RegExp(
  [
    /(?<time>\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/,
    /(?<id>\b[a-z]{2,9}_(?=[0-9a-f-]*\d)[0-9a-f][0-9a-f-]{3,}(?![0-9A-Za-z])…?)/,
    /(?<hash>\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}(?![0-9A-Za-z])(?:…[0-9a-f]*)?)/,
    /(?<base64>\b[A-Za-z0-9+/]{40,}(?:=+|…))/,
    /(?<any>…)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

type Look = "time" | "id" | "hash" | "base64" | "any";

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Values of this run by the value in the document. */
export class StandIns {
  readonly #given = new Map<string, string>();
  readonly #ports = new Map<string, string>();
  readonly #learnt = new Map<string, string>();
  readonly #used = new Set<string>();

  /** From now on this text of the document stands for another. */
  give(shown: string, actual: string): void {
    this.#given.set(shown, actual);
  }

  /** From now on this port of the document stands for another. */
  givePort(shown: string, actual: string): void {
    this.#ports.set(`:${shown}`, `:${actual}`);
  }

  /** Values of the document that did not occur yet. */
  unused(): string[] {
    return [...this.#given.keys()].filter((shown) => !this.#used.has(shown));
  }

  /** Text with what was given in its place. */
  given(text: string): string {
    let put = text;
    for (const [shown, actual] of [...this.#given, ...this.#ports]) {
      if (!put.includes(shown)) continue;
      this.#used.add(shown);
      put = put.replaceAll(shown, () => actual);
    }
    return put;
  }

  /** A command as it is for this run. Throws where it shortens what nothing before has shown. */
  put(text: string): string {
    return this.given(text).replace(VARYING, (shown, ...more) => {
      const look = lookOf(more.at(-1));
      const actual = look === "any" ? undefined : this.#find(shown);
      if (actual === undefined && shown.includes("…")) throw new Error(`nothing before tells what ${shown} stands for`);
      return actual ?? shown;
    });
  }

  /** Returns whether text is what the document shows; what it shows for the first time is learnt. */
  matches(shown: string, actual: string): boolean {
    const names: string[] = [];
    const pattern = this.#patternOf(this.given(shown), names);
    const match = new RegExp(`^${pattern}$`).exec(actual);
    return match !== null && names.every((name, index) => this.#learn(name, match[index + 1]!));
  }

  /** Two names are two things, and one name is one. */
  #learn(name: string, value: string): boolean {
    const known = this.#find(name);
    if (known !== undefined) return known === value;
    if ([...this.#learnt.values()].includes(value)) return false;
    this.#learnt.set(name, value);
    return true;
  }

  #patternOf(shown: string, names: string[]): string {
    let pattern = "";
    let end = 0;
    for (const match of shown.matchAll(VARYING)) {
      pattern += escaped(shown.slice(end, match.index)) + this.#pieceOf(match[0], lookOf(match.groups), names);
      end = match.index + match[0].length;
    }
    return pattern + escaped(shown.slice(end));
  }

  #pieceOf(shown: string, look: Look, names: string[]): string {
    if (look === "any") return "[^]*?";
    if (look === "time") return escaped(shown).replaceAll(/\d/g, "\\d");
    if (look === "base64") return "[A-Za-z0-9+/]+=*";
    const known = this.#find(shown);
    if (known !== undefined) return escaped(known);
    names.push(shown);
    const prefix = look === "id" ? shown.slice(0, shown.indexOf("_") + 1) : "";
    const length = shown.includes("…") ? `${shown.length - prefix.length},` : shown.length - prefix.length;
    return `(${prefix}[0-9a-f-]{${length}})`;
  }

  /** Returns the value for a name; a shortened name is the beginning of another. */
  #find(name: string): string | undefined {
    const exact = this.#learnt.get(name);
    if (exact !== undefined) return exact;
    const start = startOf(name);
    const found = [...this.#learnt].filter(([other]) => {
      const otherStart = startOf(other);
      return (
        (name.includes("…") && otherStart.startsWith(start)) || (other.includes("…") && start.startsWith(otherStart))
      );
    });
    const values = new Set(found.map(([, value]) => value));
    if (values.size > 1) throw new Error(`${name} may stand for ${[...values].join(" or ")}`);
    return [...values][0];
  }
}

const startOf = (name: string): string => name.split("…")[0]!;

const lookOf = (groups: unknown): Look =>
  Object.entries(groups as Record<string, string | undefined>).find(([, text]) => text !== undefined)![0] as Look;
