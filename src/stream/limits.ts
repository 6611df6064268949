import { isRecord, kindOf } from "../schema/json.ts";

/** Bounds on what a stream may make us buffer. Each has its own clear error, raised while streaming. */
export interface Limits {
  /** Characters (UTF-16 units) of one call's arguments. Default 16 Mi. */
  readonly maxArgumentsLength: number;
  /** Nesting of one call's arguments. Default 128, at most 1000. */
  readonly maxDepth: number;
  /** Calls in one stream. Default 128. */
  readonly maxCalls: number;
  /** Bytes of one event. Default 32 MiB. */
  readonly maxEventBytes: number;
}

/** Those that are to differ from the defaults. */
export type GivenLimits = { readonly [Name in keyof Limits]?: Limits[Name] | undefined };

const DEFAULTS: Limits = {
  maxArgumentsLength: 16 * 1024 * 1024,
  maxDepth: 128,
  maxCalls: 128,
  maxEventBytes: 32 * 1024 * 1024,
};

/** Whatever walks the arguments, here or in a handler, takes a piece of the stack for each level. */
export const MOST_DEPTH = 1000;

/** @throws TypeError for a limit that is not a positive number, or that does not exist. */
export function resolveLimits(given: GivenLimits | undefined): Limits {
  if (given === undefined) return DEFAULTS;
  if (!isRecord(given)) throw new TypeError(`limits is an object, got ${kindOf(given)}.`);
  const limits: { -readonly [name in keyof Limits]: number } = { ...DEFAULTS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULTS, name)) {
      throw new TypeError(
        `There is no limit ${JSON.stringify(name)}; the limits are ${Object.keys(DEFAULTS).join(", ")}.`,
      );
    }
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value > 0)) {
      throw new TypeError(`The limit ${name} is a positive number, got ${String(value)}.`);
    }
    limits[name as keyof Limits] = value;
  }
  limits.maxDepth = Math.min(limits.maxDepth, MOST_DEPTH);
  return limits;
}
