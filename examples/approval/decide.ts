/** Decides over the WebSocket. */
import { WebSocket } from "ws";
import { commandLine, leave } from "../command-line.ts";

const usage = `node examples/approval/decide.ts ws://127.0.0.1:… [approve | deny]

Without a decision it shows what is pending. The address is in the first line that main.ts prints.`;

const [url, decision] = commandLine(usage, { allowPositionals: true }).positionals;
if (url === undefined || !/^wss?:/.test(url)) leave(`Which address?\n${usage}`, 2);
if (decision !== undefined && !["approve", "deny"].includes(decision)) leave(`approve or deny?\n${usage}`, 2);
const socket = new WebSocket(url);
socket.on("message", (data) => {
  console.log(String(data));
  const message = JSON.parse(String(data)) as { type: string; request_id?: string; status?: string };
  if (message.type === "approval.requested" && message.status === "pending" && decision !== undefined) {
    socket.send(JSON.stringify({ type: "approval.decide", request_id: message.request_id, decision }));
  }
  if (message.type === "approval.outcome" || message.type === "approval.error") socket.close();
});
socket.on("error", () => {
  console.error("No connection: does main.ts still run, and is this its address?");
  process.exitCode = 1;
});
