/** Verbs that move, back up and restore complete stores. They open the stores themselves, also while a service uses them. */
import { NotDone } from "../exit.ts";
import type { Verb } from "../verb.ts";

const STATE = {
  "--state <path-or-url>": "the store [data/state.json, SVC_STATE]",
  "--store-name <name>": "name of the store in the database of --state [countersign, SVC_STORE_NAME]",
};
const NAMES = {
  "--from-name <name>": "name of the store in the database <from> [countersign]",
  "--to-name <name>": "name of the store in the database <to> [countersign]",
};
const ACTOR = { "--actor <name>": "name of the person who moves it, for the log" };

const FORCE = { "--force": "remove the data of an interrupted command from the store" };

/** Imported only when such a verb is called, since other verbs open no store. */
const commands = () => import("../../moving/commands.ts");

const common = { isLocal: true, plain: true } as const;

const MOVE_QUESTION =
  "From then on the store takes no writes. To copy a store use backup, to save the log audit export. Move it?";

/** Moves a store into a file. On a terminal it asks first, since an export may be mistaken for a copy. */
export const exportVerb: Verb = {
  usage: "export <file>",
  summary: "Move a store into a file: from then on it takes no writes",
  options: { ...STATE, "--yes": "on a terminal, without asking" },
  ...common,
  async run(session, call) {
    const isOnTerminal = session.columns !== undefined;
    const needsConfirmation = isOnTerminal && call.options["yes"] !== true;
    if (needsConfirmation && !(await session.confirm(MOVE_QUESTION))) throw new NotDone("nothing was moved");
    return (await commands()).makeFileWriter("export")(session, call);
  },
};

/** Moves a store from a file. */
export const importVerb: Verb = {
  usage: "import <file>",
  summary: "Move a store in from the file of an export",
  options: { ...STATE, ...ACTOR, ...FORCE },
  ...common,
  run: async (session, call) => (await commands()).makeFileLoader("import")(session, call),
};

/** Moves a store into another. */
export const migrateVerb: Verb = {
  usage: "migrate <from> <to>",
  summary: "Move a store into an empty one; a store is a path, postgres://…, dynamodb://… or env:NAME",
  options: { ...NAMES, ...ACTOR, ...FORCE },
  ...common,
  run: async (session, call) => (await commands()).move(session, call),
};

/** Cancels a move. */
export const unfenceVerb: Verb = {
  usage: "unfence",
  summary: "Give up a move that failed: its source takes writes again",
  options: { ...STATE, "--force": "also after the move has ended, where the copy was lost and never used" },
  ...common,
  run: async (session, call) => (await commands()).unfence(session, call),
};

/** Copies a store. */
export const backupVerb: Verb = {
  usage: "backup <file>",
  summary: "Copy a store into a file, while services use it",
  options: STATE,
  ...common,
  run: async (session, call) => (await commands()).makeFileWriter("backup")(session, call),
};

/** Loads a backup into an empty store. */
export const restoreVerb: Verb = {
  usage: "restore <file>",
  summary: "Load a backup into an empty store",
  options: { ...STATE, ...ACTOR, ...FORCE },
  ...common,
  run: async (session, call) => (await commands()).makeFileLoader("restore")(session, call),
};
