/**
 * fast-check, as every property uses it: `npm test` draws the same cases each time. `SEED=123` draws others,
 * `SEED=random` new ones in every run (the seed is told when one fails), `RUNS=10` ten times as many.
 */
import fc from "fast-check";

export * from "fast-check";

const { SEED = "1", RUNS = "1" } = process.env;

function draw(property: fc.IRawProperty<unknown>, parameters: fc.Parameters<unknown> = {}): unknown {
  const { numRuns = 100 } = parameters;
  const seed = SEED === "random" ? {} : { seed: Number(SEED) };
  return fc.assert(property as fc.IProperty<unknown>, {
    ...seed,
    ...parameters,
    numRuns: Math.ceil(numRuns * Number(RUNS)),
  });
}

export const assert = draw as typeof fc.assert;
