/** The process of a job: it receives jobs as messages, and answers each. */
import { runJob, type Job } from "./job.ts";

process.on("message", async (job: Job) => {
  try {
    process.send!(await runJob(job));
  } catch (error) {
    process.send!({ error: String(error) });
  }
});
