/** `node --import test/workers/oldest-bullmq-child.ts`: with the oldest BullMQ that package.json lets in. */
import { registerHooks } from "node:module";

registerHooks({ resolve: (name, context, next) => next(name === "bullmq" ? "bullmq-oldest" : name, context) });
