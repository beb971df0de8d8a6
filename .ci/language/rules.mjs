/**
 * Rules of the project's language: plain technical English with one term for one thing. Each rule finds faults in the lines of
 * one file. The glossary that they enforce is in DOMAIN.md.
 */

/** Words of the former vocabulary, with the term to use. A pattern matches words in prose and parts of identifiers. */
const TERMS = [
  ["told", "recorded, reported"],
  ["as told", "according to the log"],
  ["held against", "verified against"],
  ["asker", "caller"],
  ["given out", "returned"],
  ["patrol", "integrity scan"],
  ["sighting", "clock sample"],
  ["glance", "request cache"],
  ["misfit", "mismatch"],
  ["rehearse", "dry run"],
  ["rehearsal", "dry run"],
  ["unsettled", "unresolved"],
  ["overtaken", "conflict"],
  ["anew", "again"],
  ["beside", "alongside, also"],
  ["besides", "also"],
  ["sought", "query"],
  ["deed", "action"],
  ["whoever", "the caller"],
  ["heeding", "version marker"],
  ["quietly", "best effort: tryExpire"],
  ["widely", "with a scan limit"],
  ["foretell", "preview"],
  ["untold", "unindexed"],
  ["sifted", "unindexed"],
  ["stranger", "unauthenticated caller"],
];

/** Words of the former vocabulary that are allowed in prose, but not in declared names. */
const NAME_TERMS = [
  ["asked", "requested, caller"],
  ["kept", "stored, cached"],
  ["held", "stored, cached, current"],
  ["given", "provided, received"],
  ["said", "stated, recorded"],
  ["whole", "complete, snapshot"],
  ["standing", "status, eligibility"],
  ["outline", "log index"],
  ["patrol", "integrity scan"],
  ["look", "scan, check, status"],
  ["mend(?:ed|s)?", "repair"],
  ["settled?", "resolve, commit"],
  ["follower", "projection"],
  ["overlay", "snapshot"],
  ["act", "action"],
  ["(?:no|some|any)body", "the caller, a user, no user"],
  ["refus(?:e|es|ed|al|als)", "reject, rejection"],
  ["why|whose|who|ours|theirs", "a noun or a verb + object"],
  ["remains", "obsolete records"],
  ["at once", "immediately, atomically, concurrently"],
  ["put back|take back|take up", "restore, roll back, resume"],
];

/** Declared names that may contain such a word. */
const ALLOWED_NAMES = new Set([
  "Contended",
  "HELD_MESSAGE",
  "Listed",
  "Stored",
  "Unanswered",
  "asked_at",
  "isHeldByOther",
]);

/** Constants that name a limit without its unit. */
const WEAK_LIMIT = /^(?:MOST|LONGEST|LARGEST)(?:_|$)/;

/** Beginnings of function names that are neither a verb nor a noun: prepositions, question words, and adverbs in -ly. */
const WEAK_FUNCTION =
  /^(?:about|after|all|as|at|before|beside|by|for|if|in|on|over|per|since|unless|until|upon|what|when|where|whether|while|why|without|(?!apply|launchdarkly|multiply|reply)[a-z]+ly)(?=[A-Z]|$)/;

/** Types whose name is a participle. */
const PARTICIPLE_TYPE =
  /^export (?:interface|type|class) ((?!Need)[A-Z][a-z]+ed|Told|Held|Kept|Given|Seen|Said|Found|Known|Built|Made|Sent|Spoken|Written|Shown|Gone|Lost)\b/;

/** Quotations, fixed names and data in which a former word is allowed. */
const ALLOWED = [
  /besides? (?:itself|themselves)/i,
  /"asker"/,
  // Texts that are sent, stored or published in the description of the API.
  /by another way than this file: whoever made the pack/,
  /Whoever did it\./,
  /absent beside a result/,
  /only beside it, under the same parent/,
  /whoever stands here must sign/,
  /The service at a glance/,
  /asked to look into, beside changes/,
  /"held against"/,
];

const CODE = /\.(?:ts|tsx|mjs|py)$/;
const PROSE = /\.md$/;

/** Splits identifiers such as `somethingToldOf` and `something_told_of` into words. */
const splitIdentifiers = (line) =>
  line
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();

const termRules = TERMS.map(([term, instead]) => ({ pattern: new RegExp(`\\b${term}\\b`), term, instead }));

function findTerms(text) {
  const words = ALLOWED.reduce(
    (rest, allowed) => rest.replaceAll(new RegExp(allowed, "gi"), ""),
    splitIdentifiers(text),
  );
  return termRules
    .filter(({ pattern }) => pattern.test(words))
    .map(({ term, instead }) => `"${term}": write ${instead}`);
}

const COMMENT = /(?:^\s*(?:\/\*\*?|\*)|\/\/|^\s*#|\s#\s)(.*)$/;
const STRING = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`?/g;
const DECLARED = /\b(?:const|let|var|function\*?|class|interface|type|def)\s+(\w+)/g;

/** Selects the comments, texts and declared names of a line; other names in it may be declared elsewhere. */
function selectAuthored(line) {
  const texts = [...line.matchAll(STRING)].map(([text]) => text.replaceAll(/\$\{[^}]*\}/g, ""));
  const names = [...line.matchAll(DECLARED)].map(([, name]) => name);
  const comment = COMMENT.exec(line.replaceAll(STRING, ""))?.[1] ?? "";
  const isImport = /^\s*(?:import|export)\b.*\bfrom\b/.test(line);
  return [...(isImport ? [] : texts), ...names, comment].join("\n");
}

const WEAK_START = /^\s*(?:\/\*\*|\*|\/\/|"""|#)\s+(What|Whether|Of|So|Whoever|Those|Where|That|How often)\b/;
const EXPORTED = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/;
const EXPORTED_FUNCTION = /^export (?:async )?(?:function\*? (\w+)|const ([a-z]\w*) = (?:async )?(?:<|\(|\w+ =>))/;
/** A preposition at the end of a name; `dueAt` and `expiresAt` are times, as in the fields of records. */
const PREPOSITION = /(?<!(?:Due|ed|s))At$|(?:Of|In|On|To|With|By|From|After|Before|Against|Under|Over|Into|Upon)$/;
const TITLE = /^\s*(?:test|it|describe|tried)(?:\.\w+)*(?:\([^"'`]*\))?\(\s*["'`](.+?)["'`],/;
const MAX_TITLE_LENGTH = 90;

/** Returns the fault of an exported name that ends in a preposition; undefined for any other line. */
export function findPreposition(line) {
  const [, name] = EXPORTED.exec(line) ?? [];
  if (name === undefined || !PREPOSITION.test(name)) return undefined;
  return `${name} ends in a preposition: name it verb + object, or by a noun`;
}

function findInCode(line) {
  const found = [];
  const start = WEAK_START.exec(line);
  if (start) found.push(`a comment begins with "${start[1]}": begin with a verb in the third person or a noun`);
  const preposition = findPreposition(line);
  if (preposition) found.push(preposition);
  const title = TITLE.exec(line);
  if (title && title[1].length > MAX_TITLE_LENGTH)
    found.push(`a test title of ${title[1].length} characters: at most ${MAX_TITLE_LENGTH}`);
  return found;
}

const nameRules = NAME_TERMS.map(([term, instead]) => ({ pattern: new RegExp(`(?:^| )(?:${term})(?: |$)`), instead }));
/** Folders whose declared names are checked; tests may use other words for their data. */
const NAME_CHECKED = /^(?:\.ci|handlers|lib|local)\//;

/** Returns the faults of the names that a line declares. */
function findInNames(line) {
  const found = [];
  for (const [, name] of line.matchAll(DECLARED)) {
    if (ALLOWED_NAMES.has(name)) continue;
    if (WEAK_LIMIT.test(name)) found.push(`the name ${name}: write MAX_, what it limits, and the unit`);
    const words = splitIdentifiers(name);
    for (const { pattern, instead } of nameRules)
      if (pattern.test(words)) found.push(`the name ${name}: write ${instead}`);
  }
  const match = EXPORTED_FUNCTION.exec(line);
  const exported = match?.[1] ?? match?.[2];
  if (exported !== undefined && WEAK_FUNCTION.test(exported) && !ALLOWED_NAMES.has(exported))
    found.push(`${exported} begins with no verb: name it verb + object, or by a noun`);
  const [, type] = PARTICIPLE_TYPE.exec(line) ?? [];
  if (type !== undefined && !ALLOWED_NAMES.has(type))
    found.push(`the type ${type} is named by a participle: name it by a noun`);
  return found;
}

/** Returns the faults of one line of a file as sentences. */
export function findFaults(file, line) {
  if (CODE.test(file))
    return [
      ...findTerms(selectAuthored(line)),
      ...findInCode(line),
      ...(NAME_CHECKED.test(file) ? findInNames(line) : []),
    ];
  return PROSE.test(file) ? findTerms(line) : [];
}
