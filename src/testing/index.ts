export { replayModel, type ReplayedTurn, type ReplayModel } from "./replay-model.ts";
export { summarize, type CallStatus, type CallSummary, type TurnSummary } from "./summary.ts";
