/**
 * node .ci/language/main.mjs [BASE]: checks the language of every line in some folders, and elsewhere of the lines that were
 * added or changed since BASE. Names of exports are checked in every line. It also counts the words of the manual. Exit code 1:
 * a fault was found, or the manual is too long.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { countManual, MAX_WORDS } from "./manual_words.mjs";
import { findFaults, findPreposition } from "./rules.mjs";

/** The last commit before the rules existed. */
const DEFAULT_BASE = "ddcdce0";
const CHECKED = ["handlers", "lib", "local", "test", ".ci", "docs", "README.md", "CONTRIBUTING.md"];
/** Folders in which every line is checked. */
const FULLY_CHECKED = [".ci", "docs", "handlers", "lib", "local", "test"];
/** Generated files, data of tests, and the rules themselves. */
const UNCHECKED = [":!lib/client/generated", ":!.ci/language", ":!test/docs/language.test.ts"];

const words = countManual("docs").reduce((sum, [, count]) => sum + count, 0);
process.stdout.write(`docs: ${words} words without generated tables, of at most ${MAX_WORDS}\n`);
if (words > MAX_WORDS) {
  process.stdout.write("The manual is too long: shorten a page, link instead of repeating, or generate a table.\n");
  process.exitCode = 1;
}

const [base = DEFAULT_BASE] = process.argv.slice(2);
const git = (...args) =>
  execFileSync("git", args, { encoding: "utf8", maxBuffer: 1e9, stdio: ["ignore", "pipe", "pipe"] });

/** Yields `{file, number, text}` of every line that a diff without context adds. */
function* addedLines(diff) {
  let file;
  let number = 0;
  for (const line of diff.split("\n")) {
    if (line.startsWith("+++ ")) file = line.slice("+++ b/".length);
    else if (line.startsWith("@@ ")) number = Number(/\+(\d+)/.exec(line)[1]);
    else if (line.startsWith("+")) yield { file, number: number++, text: line.slice(1) };
  }
}

let diff;
try {
  diff = git("diff", "-U0", "-M", base, "--", ...CHECKED, ...UNCHECKED);
} catch (error) {
  process.stderr.write(
    `the language is not checked: ${String(error.stderr).trim()}; this needs the history since ${base}\n`,
  );
  // Outside CI a shallow clone is no fault.
  process.exit(process.env.CI ? 1 : process.exitCode);
}
const isFullyChecked = (file) => FULLY_CHECKED.some((folder) => file.startsWith(`${folder}/`));
const listFiles = (...folders) =>
  git("ls-files", "--", ...folders, ...UNCHECKED)
    .split("\n")
    .filter((file) => existsSync(file));
/** Returns every line of a file, in the form that `addedLines` yields. */
const allLines = (file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .map((text, index) => ({ file, number: index + 1, text }));

const checkedLines = [
  ...[...addedLines(diff)].filter(({ file }) => !isFullyChecked(file)),
  ...listFiles(...FULLY_CHECKED).flatMap(allLines),
];
const faults = checkedLines.flatMap(({ file, number, text }) =>
  findFaults(file, text).map((fault) => `${file}:${number}: ${fault}`),
);
const code = listFiles(...CHECKED).filter((file) => /\.(?:tsx?|mjs)$/.test(file));
// Each name is reported once.
for (const file of code)
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const fault = findPreposition(line);
    if (fault !== undefined && !faults.some((one) => one.endsWith(fault))) faults.push(`${file}: ${fault}`);
  }
if (faults.length > 0) process.stdout.write(`${faults.join("\n")}\n${faults.length} faults of language\n`);
if (faults.length > 0) process.exitCode = 1;
