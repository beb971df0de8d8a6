/**
 * Maps the ids, hashes and ports in a document to those of the current run. The values of the run are learned from the actual
 * output and replace those of the document in later commands, so that the commands run as written.
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

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Values of the current run by the values in the document; texts and ports are replaced as configured, other values as learned. */
export class RunValues {
  readonly #texts = new Map<string, string>();
  readonly #ports = new Map<string, string>();
  readonly #learned = new Map<string, string>();
  readonly #used = new Set<string>();

  /** Replaces a text of the document by another from now on. */
  addReplacement(shown: string, actual: string): void {
    this.#texts.set(shown, actual);
  }

  /** Replaces a port of the document by another from now on. */
  addPort(shown: string, actual: string): void {
    this.#ports.set(`:${shown}`, `:${actual}`);
  }

  /** Returns the texts with a replacement that have not occurred in the document yet. */
  listUnused(): string[] {
    return [...this.#texts.keys()].filter((shown) => !this.#used.has(shown));
  }

  /** Returns a text with the replacements of texts and ports. */
  replaceTexts(text: string): string {
    let replaced = text;
    for (const [shown, actual] of [...this.#texts, ...this.#ports]) {
      if (!replaced.includes(shown)) continue;
      this.#used.add(shown);
      replaced = replaced.replaceAll(shown, () => actual);
    }
    return replaced;
  }

  /** Returns a command with the values of the current run. Throws if it shortens a value that is not known yet. */
  translate(text: string): string {
    return this.replaceTexts(text).replace(VARYING, (shown, ...matchDetails) => {
      const kind = findKind(matchDetails.at(-1)); // the named groups come last
      const actual = kind === "any" ? undefined : this.#find(shown);
      if (actual === undefined && shown.includes("…")) throw new Error(`no output before shows the value of ${shown}`);
      return actual ?? shown;
    });
  }

  /** Returns whether an output matches the shown text; values that are shown for the first time are learned. */
  matches(shown: string, actual: string): boolean {
    const newValues: string[] = [];
    const pattern = this.#buildPattern(this.replaceTexts(shown), newValues);
    const match = new RegExp(`^${pattern}$`).exec(actual);
    return match !== null && newValues.every((value, index) => this.#learn(value, match[index + 1]!));
  }

  /** Learns the actual value for a shown one; returns false if either of them already belongs to another value. */
  #learn(shown: string, actual: string): boolean {
    const learned = this.#find(shown);
    if (learned !== undefined) return learned === actual;
    if ([...this.#learned.values()].includes(actual)) return false;
    this.#learned.set(shown, actual);
    return true;
  }

  /** Builds the pattern of a text; adds each value that has a group in the pattern to `newValues`. */
  #buildPattern(shown: string, newValues: string[]): string {
    let pattern = "";
    let end = 0;
    for (const match of shown.matchAll(VARYING)) {
      pattern +=
        escapePattern(shown.slice(end, match.index)) + this.#valuePattern(match[0], findKind(match.groups), newValues);
      end = match.index + match[0].length;
    }
    return pattern + escapePattern(shown.slice(end));
  }

  #valuePattern(shown: string, kind: ValueKind, newValues: string[]): string {
    if (kind === "any") return "[^]*?";
    if (kind === "time") return escapePattern(shown).replaceAll(/\d/g, "\\d");
    if (kind === "base64") return "[A-Za-z0-9+/]+=*";
    const learned = this.#find(shown);
    if (learned !== undefined) return escapePattern(learned);
    newValues.push(shown);
    const prefix = kind === "id" ? shown.slice(0, shown.indexOf("_") + 1) : "";
    const length = shown.includes("…") ? `${shown.length - prefix.length},` : shown.length - prefix.length;
    return `(${prefix}[0-9a-f-]{${length}})`;
  }

  /** Returns the learned value for a shown one; a shortened value, such as `2cf4e899…`, matches one with the same beginning. */
  #find(shown: string): string | undefined {
    const exact = this.#learned.get(shown);
    if (exact !== undefined) return exact;
    const start = cutAtEllipsis(shown);
    const matching = [...this.#learned].filter(([other]) => {
      const otherStart = cutAtEllipsis(other);
      return (
        (shown.includes("…") && otherStart.startsWith(start)) || (other.includes("…") && start.startsWith(otherStart))
      );
    });
    const values = new Set(matching.map(([, value]) => value));
    if (values.size > 1) throw new Error(`${shown} may stand for ${[...values].join(" or ")}`);
    return [...values][0];
  }
}

const cutAtEllipsis = (value: string): string => value.split("…")[0]!;

/** Returns the name of the group of `VARYING` that matched. */
const findKind = (groups: unknown): ValueKind =>
  Object.entries(groups as Record<string, string | undefined>).find(([, text]) => text !== undefined)![0] as ValueKind;
