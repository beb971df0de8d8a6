/** Loaded before each process of the demo: when the demo goes, however it went, they go too. */
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel.unref();
