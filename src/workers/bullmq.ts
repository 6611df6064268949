export {
  bullmqExecutor,
  bullmqTools,
  type BullmqExecutor,
  type BullmqTools,
  type BullmqToolsOptions,
} from "./tools.ts";
export { bullmqWorker, type BullmqWorker, type BullmqWorkerOptions } from "./worker.ts";
export type { BullmqPlace } from "./queue.ts";
export type { JobContext, JobData, JobResult } from "./job.ts";
