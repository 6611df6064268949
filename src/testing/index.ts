export { summarize, type CallStatus, type CallSummary, type TurnSummary } from "./summary.ts";
