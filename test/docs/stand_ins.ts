/**
 * Maps the ids, hashes and ports in a document to those of the current run. They are learned from the actual output and
 * replaced in later commands, so that the commands of a document run as written.
 */

/** Matches values that differ between runs; an ellipsis shortens a value or matches any text. */
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

type ValueKind = "time" | "id" | "hash" | "base64" | "any";

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Values of the current run by the value in the document. */
export class StandIns {
  readonly #given = new Map<string, string>();
  readonly #ports = new Map<string, string>();
  readonly #learnt = new Map<string, string>();
  readonly #used = new Set<string>();

  /** Replaces a text of the document by another from now on. */
  give(shown: string, actual: string): void {
    this.#given.set(shown, actual);
  }

  /** Replaces a port of the document by another from now on. */
  givePort(shown: string, actual: string): void {
    this.#ports.set(`:${shown}`, `:${actual}`);
  }

  /** Returns the given texts that have not occurred in the document yet. */
  unused(): string[] {
    return [...this.#given.keys()].filter((shown) => !this.#used.has(shown));
  }

  /** Returns a text with the given replacements. */
  given(text: string): string {
    let put = text;
    for (const [shown, actual] of [...this.#given, ...this.#ports]) {
      if (!put.includes(shown)) continue;
      this.#used.add(shown);
      put = put.replaceAll(shown, () => actual);
    }
    return put;
  }

  /** Returns a command with the values of the current run. Throws if it shortens a value that is not known yet. */
  put(text: string): string {
    return this.given(text).replace(VARYING, (shown, ...more) => {
      const kind = findKind(more.at(-1));
      const actual = kind === "any" ? undefined : this.#find(shown);
      if (actual === undefined && shown.includes("…")) throw new Error(`nothing before tells what ${shown} stands for`);
      return actual ?? shown;
    });
  }

  /** Returns whether an output matches the shown text; values that are shown for the first time are learned. */
  matches(shown: string, actual: string): boolean {
    const names: string[] = [];
    const pattern = this.#patternOf(this.given(shown), names);
    const match = new RegExp(`^${pattern}$`).exec(actual);
    return match !== null && names.every((name, index) => this.#learn(name, match[index + 1]!));
  }

  /** Learns a value; returns false if the name has another value or the value another name. */
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
      pattern += escaped(shown.slice(end, match.index)) + this.#pieceOf(match[0], findKind(match.groups), names);
      end = match.index + match[0].length;
    }
    return pattern + escaped(shown.slice(end));
  }

  #pieceOf(shown: string, kind: ValueKind, names: string[]): string {
    if (kind === "any") return "[^]*?";
    if (kind === "time") return escaped(shown).replaceAll(/\d/g, "\\d");
    if (kind === "base64") return "[A-Za-z0-9+/]+=*";
    const known = this.#find(shown);
    if (known !== undefined) return escaped(known);
    names.push(shown);
    const prefix = kind === "id" ? shown.slice(0, shown.indexOf("_") + 1) : "";
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

const findKind = (groups: unknown): ValueKind =>
  Object.entries(groups as Record<string, string | undefined>).find(([, text]) => text !== undefined)![0] as ValueKind;
