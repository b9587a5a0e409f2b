// Takes a trace of its own run: node trace.js > trace.json
const { Session } = require("inspector");
const session = new Session();
session.connect();
const post = (method, params) => new Promise((done, failed) =>
    session.post(method, params, (error, result) => error ? failed(error) : done(result)));
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const events = [];
session.on("NodeTracing.dataCollected", (message) => events.push(...message.params.value));
session.once("NodeTracing.tracingComplete", () => console.log(JSON.stringify({ traceEvents: events })));
(async () => {
    await post("NodeTracing.start", { traceConfig: { includedCategories: ["disabled-by-default-v8.cpu_profiler"] } });
    fib(27);
    await post("NodeTracing.stop");
})();
