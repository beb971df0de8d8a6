/** What the build puts in place of this module: the built console (`.ci/build/console_files.mjs`). */
declare module "countersign:console-files" {
  /** As `unpackedConsole` takes it. */
  const packed: string;
  export default packed;
}
