/** Prints the sentences of the demo. */

/** Number of columns of the output. */
const WIDTH = 100;

/** Prints a text in lines of at most `WIDTH` columns, each indented like the first one; after a number, like the text behind it. */
export function say(text) {
  const indent = " ".repeat(/^\d+\. /.test(text) ? 3 : /^ */.exec(text)[0].length);
  const lines = [""];
  for (const word of text.trim().split(/\s+/)) {
    const longer = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
    if (longer.length + indent.length <= WIDTH || lines.at(-1) === "") lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const [first, ...rest] = lines;
  const firstIndent = /^\d/.test(first) ? "" : indent;
  console.log([firstIndent + first, ...rest.map((line) => indent + line)].join("\n"));
}
