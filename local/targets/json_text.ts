/** Edits members of an object in JSON text, and leaves every other byte as it is. The text must be valid JSON. */

/** A member of an object: offsets of its name, its value and its end in the text. */
interface Member {
  name: string;
  start: number;
  value: number;
  end: number;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /[ \t\n\r]*/y;
const SCALAR = /[^ \t\n\r,\]}]+/y;

const matchEnd = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
};
const skipSpace = (text: string, at: number): number => matchEnd(SPACE, text, at);

/** Returns the end of the value that begins at `at`. */
function findEnd(text: string, at: number): number {
  const open = text[at];
  if (open === '"') return matchEnd(STRING, text, at);
  if (open !== "{" && open !== "[") return matchEnd(SCALAR, text, at);
  let depth = 0;
  for (let i = at; ; i++) {
    const character = text[i]!;
    if (character === '"') i = matchEnd(STRING, text, i) - 1;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return i + 1;
  }
}

/** Lists the members of the object that begins at `at`. */
function listMembers(text: string, at: number): Member[] {
  const members: Member[] = [];
  for (let i = skipSpace(text, at + 1); text[i] !== "}";) {
    const nameEnd = matchEnd(STRING, text, i);
    const value = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = findEnd(text, value);
    members.push({ name: JSON.parse(text.slice(i, nameEnd)) as string, start: i, value, end });
    i = skipSpace(text, end);
    if (text[i] === ",") i = skipSpace(text, i + 1);
  }
  return members;
}

/** Returns the offset of the object at a path of member names. Every name of the path must be an object. */
function findObject(text: string, path: readonly string[]): number {
  let at = skipSpace(text, 0);
  for (const name of path) at = listMembers(text, at).find((member) => member.name === name)!.value;
  return at;
}

/** Returns the text of a member's value; `undefined` where the object has no such member. */
export function readMember(text: string, path: readonly string[], name: string): string | undefined {
  const member = listMembers(text, findObject(text, path)).find((one) => one.name === name);
  return member && text.slice(member.value, member.end);
}

/** Sets the text of a member's value. A new member is added last, with the white space of the member before it. */
export function setMember(text: string, path: readonly string[], name: string, value: string): string {
  const at = findObject(text, path);
  const members = listMembers(text, at);
  const existing = members.find((one) => one.name === name);
  if (existing) return text.slice(0, existing.value) + value + text.slice(existing.end);
  const last = members.at(-1);
  const member = `${JSON.stringify(name)}: ${value}`;
  if (!last) return text.slice(0, at + 1) + member + text.slice(at + 1);
  const before = members.at(-2)?.end;
  const gap =
    before === undefined ? text.slice(at + 1, last.start) : text.slice(text.indexOf(",", before) + 1, last.start);
  return `${text.slice(0, last.end)},${gap}${member}${text.slice(last.end)}`;
}

/** Removes a member; the removal of a member that `setMember` added restores the former text. */
export function removeMember(text: string, path: readonly string[], name: string): string {
  const at = findObject(text, path);
  const members = listMembers(text, at);
  const index = members.findIndex((member) => member.name === name);
  const [before, found, after] = [members[index - 1], members[index]!, members[index + 1]];
  if (before) return text.slice(0, before.end) + text.slice(found.end);
  // The first member is removed with the comma after it, an only one with the white space before it.
  return text.slice(0, after ? found.start : at + 1) + text.slice(after ? after.start : found.end);
}
