/** Whatever a server does wrong, alone or together: what runs is what the model called, and no call is lost. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsIn, input, inPieces, makeTools, resultsIn } from "../promises/support.ts";
import { servers } from "./servers.ts";
import { diceOf, throws, type Dice, type Server } from "./servers/support.ts";

const numRuns = Number(process.env["SERVERS"] ?? 200);

const calls = fc.array(fc.record({ name: fc.constantFrom("read", "write"), input }), { minLength: 1, maxLength: 4 });

/** Executes whatever is handed out, and looks at the partial input before; every call that goes back has one result. */
async function ranOf({ adapter }: Server, frames: readonly string[], dice: Dice): Promise<string[]> {
  const bytes = new TextEncoder().encode(frames.join(""));
  const longest = [1, 7, 100, 1e6][dice(4)]!;
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) chunks.push(bytes.slice(at, at + 1 + dice(longest)));
  const { tools, ran } = makeTools();
  const stream = adapter.read(inPieces(chunks), { tools });
  for await (const event of stream) {
    if (event.type === "tool-input-delta") void event.call.input;
    if (event.type === "tool-use") await event.use.execute();
  }
  const asked = callsIn(adapter.assistantMessage(stream.turn));
  expect(resultsIn(adapter.toolResults(stream.turn)).toSorted()).toEqual(asked.toSorted());
  expect(asked).not.toContain("");
  return ran.map(one).toSorted();
}

function one({ name, input: args }: { readonly name: string; readonly input: unknown }): string {
  return `${name} ${JSON.stringify(args)}`;
}

describe.each(servers.map((server) => [server.adapter.name, server] as const))("a server of %s", (_, server) => {
  const turn = fc
    .tuple(fc.record(server.knobs), calls, throws)
    .filter(([knobs, meant]) => server.canTell(knobs, meant));

  it("has every call run once, as the model wrote it", () =>
    fc.assert(
      fc.asyncProperty(turn, async ([knobs, meant, numbers]) => {
        const dice = diceOf(numbers);
        const ran = await ranOf(server, server.send(knobs, meant, dice), dice);
        expect(ran).toEqual(meant.map(one).toSorted());
      }),
      { numRuns },
    ));

  const end = fc.oneof(fc.constant("limit" as const), fc.nat());
  it("that is cut, or reaches a limit, has none run but those", () =>
    fc.assert(
      fc.asyncProperty(turn, fc.nat(), end, async ([knobs, meant, numbers], at, more) => {
        const dice = diceOf(numbers);
        const frames = server.send(knobs, meant, dice);
        const whole = frames.slice(0, at % frames.length);
        const next = frames[whole.length]!;
        const rest = more === "limit" ? server.cutShort(knobs, whole) : [next.slice(0, more % (next.length - 1))];
        const left = meant.map(one);
        for (const ran of await ranOf(server, [...whole, ...rest], dice)) {
          expect(left).toContain(ran);
          left.splice(left.indexOf(ran), 1);
        }
      }),
      { numRuns },
    ));
});
