/** Puts a fault into a source text, and says where its place may have gone when it is not there. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { transformSync } from "esbuild";

/** The sources that faults are planted in. */
const ROOMS = ["handlers", "lib", "local"];

/** How often a fault's place is found; it must be once. */
function placesIn(source, find) {
  if (typeof find === "string") return source.split(find).length - 1;
  return [...source.matchAll(new RegExp(find.source, `${find.flags.replace("g", "")}g`))].length;
}

/** The text with the fault in it. */
export function planted(source, { find, replace }) {
  // A function, so that a `$` in plain text stays one.
  return source.replace(find, typeof find === "string" ? () => replace : replace);
}

/** What keeps a fault from being planted under `root`, in words; undefined when nothing does. */
export function whyStale(root, fault) {
  const { file, find, tests } = fault;
  const missing = tests.filter((test) => !existsSync(join(root, test)));
  if (missing.length > 0) return `its nearest tests are not there: ${missing.join(", ")}`;
  if (!existsSync(join(root, file))) return `there is no ${file}.${hint(root, fault)}`;
  const source = readFileSync(join(root, file), "utf8");
  const places = placesIn(source, find);
  if (places > 1) return `${file} has its text ${places} times; add to it what makes it one`;
  if (places === 0) return `${file} does not have its text any more.${hint(root, fault)}`;
  const faulty = planted(source, fault);
  if (faulty === source) return "it changes nothing";
  try {
    transformSync(faulty, { loader: file.endsWith("x") ? "tsx" : "ts" });
  } catch (error) {
    return `with it ${file} is no TypeScript: ${error.errors[0].text}`;
  }
  return undefined;
}

/** Where the text stands now, if it only moved or was laid out anew. */
function hint(root, { find }) {
  const others = sourcesUnder(root);
  const moved = others.filter((other) => placesIn(readFileSync(join(root, other), "utf8"), find) > 0);
  if (moved.length > 0) return ` It stands in ${moved.join(", ")} now.`;
  if (typeof find !== "string") return "";
  const text = bare(find);
  const laidOut = others.filter((other) => bare(readFileSync(join(root, other), "utf8")).includes(text));
  return laidOut.length > 0 ? ` With other spaces and line breaks it stands in ${laidOut.join(", ")}.` : "";
}

const bare = (text) => text.replace(/[\s,]+/g, "");

const sourcesUnder = (root) =>
  ROOMS.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  );
