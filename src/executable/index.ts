export { loadExecutable, type ExecutableInfo } from "./load.ts";
export {
  DEFAULT_SEARCH_PATHS,
  discoverExecutables,
  type DiscoveredExecutables,
  type DiscoverOptions,
  type SkippedExecutable,
} from "./discover.ts";
export { manifestOf, readManifest, writeManifest, type ExecutableManifest } from "./manifest.ts";
export { ExecutableError, type ExecutableRun } from "./error.ts";
export type { ExecutableOptions, ExecutableRunOptions } from "./options.ts";
export type { ProgressLine } from "./stderr.ts";
