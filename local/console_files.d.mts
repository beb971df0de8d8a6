/** What the build puts in place of this module: the built console (`.ci/build/console_files.mjs`). */
declare module "countersign:console-files" {
  /** The argument of `unpackConsole`. */
  const packed: string;
  export default packed;
}
