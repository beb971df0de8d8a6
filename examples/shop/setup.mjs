/** Sets up the shop in a new folder: `node examples/shop/setup.mjs FOLDER`. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2] ?? "shop");
const example = (name) => join(import.meta.dirname, name);
mkdirSync(folder); // fails where the folder exists

/** Creates a secret: the agent's can only propose, the admin token allows every write. */
const newSecret = (name) => {
  const secret = randomBytes(24).toString("hex");
  writeFileSync(join(folder, name), secret, { mode: 0o600 });
  return secret;
};
const agentSecret = newSecret("agent.secret");
newSecret("admin.token");

/** Copies a file and replaces one text in it. */
const copyWith = (name, text, replacement) =>
  writeFileSync(
    join(folder, name),
    readFileSync(example(name), "utf8").replace(text, () => replacement),
  );
const hash = createHash("sha256").update(agentSecret).digest("hex");
copyWith("product_intent.json", "SHA-256 OF THE AGENT'S SECRET", hash);
copyWith("targets.json", "FOLDER", folder);
copyFileSync(example("flags.flagd.json"), join(folder, "flags.flagd.json"));

const git = (...words) => execFileSync("git", words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
const ana = ["-c", "user.name=Ana", "-c", "user.email=ana@teashop.example"];
// The repository on the server, and the clone that the shop runs from.
git("init", "-q", "--bare", "-b", "main", "app.git");
git("init", "-q", "-b", "main", "live");
cpSync(example("app"), join(folder, "live"), { recursive: true });
git("-C", "live", "add", ".");
git(...ana, "-C", "live", "commit", "-q", "-m", "Open the shop");
git("-C", "live", "remote", "add", "origin", join(folder, "app.git"));
git("-C", "live", "push", "-q", "--set-upstream", "origin", "main");
