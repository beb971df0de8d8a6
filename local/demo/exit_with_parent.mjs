/** Loaded into each process of the demo: ends the process when the demo has ended or was killed. */
const end = () => process.kill(process.pid, "SIGTERM");
if (process.connected) process.once("disconnect", end).channel.unref();
else end();
