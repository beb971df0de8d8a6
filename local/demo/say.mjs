/** Says something in lines that fit a terminal; what is numbered or indented stays so. */
const WIDTH = 100;

export function say(text) {
  const indent = " ".repeat(/^\d+\. /.test(text) ? 3 : /^ */.exec(text)[0].length);
  const lines = [""];
  for (const word of text.trim().split(/\s+/)) {
    const longer = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
    if (longer.length + indent.length <= WIDTH || lines.at(-1) === "") lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const [first, ...rest] = lines;
  const begin = /^\d/.test(first) ? "" : indent;
  console.log([begin + first, ...rest.map((line) => indent + line)].join("\n"));
}
