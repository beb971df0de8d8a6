/** Loaded before each process of the demo: when the demo goes, however it went, they go too. */
const end = () => process.kill(process.pid, "SIGTERM");
if (process.connected) process.once("disconnect", end).channel.unref();
else end();
