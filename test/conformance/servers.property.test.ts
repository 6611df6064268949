/** Whatever a server does wrong, alone or together: what runs is what the model called, and nothing it said is lost. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import type { Turn } from "../../src/index.ts";
import { callsIn, input, makeTools, resultsIn } from "../promises/support.ts";
import { servers } from "./servers.ts";
import { diceOf, SAID, throws, type Dice, type Server } from "./servers/support.ts";
import { framesOf, transport } from "./servers/transport.ts";
import { iterate } from "../iterate.ts";

const calls = fc.array(fc.record({ name: fc.constantFrom("read", "write"), input }), { minLength: 1, maxLength: 4 });

/** Executes whatever is handed out, and looks at the partial input before; every call that goes back has one result. */
async function ranOf({ adapter }: Server, text: string, dice: Dice): Promise<{ ran: string[]; turn: Turn }> {
  const bytes = new TextEncoder().encode(text);
  const longest = [1, 7, 100, 1e6][dice(4)]!;
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) chunks.push(bytes.slice(at, at + 1 + dice(longest)));
  const { tools, ran } = makeTools();
  const stream = adapter.read(iterate(chunks), { tools });
  for await (const event of stream) {
    if (event.type === "tool-input-delta") void event.call.input;
    if (event.type === "tool-use") await event.use.execute();
  }
  const { turn } = stream;
  const asked = callsIn(adapter.assistantMessage(turn));
  expect(resultsIn(adapter.toolResults(turn)).toSorted()).toEqual(asked.toSorted());
  expect(asked).not.toContain("");
  return { ran: ran.map(one).toSorted(), turn };
}

function one({ name, input: args }: { readonly name: string; readonly input: unknown }): string {
  return `${name} ${JSON.stringify(args)}`;
}

/** Each once. */
function expectAmong(ran: readonly string[], meant: readonly string[]): void {
  const left = [...meant];
  for (const each of ran) {
    expect(left).toContain(each);
    left.splice(left.indexOf(each), 1);
  }
}

describe.each(servers.map((server) => [server.adapter.name, server] as const))("a server of %s", (_, server) => {
  const anyTurn = fc.tuple(fc.record(server.knobs), calls, transport, throws);
  const turn = anyTurn.filter(([knobs, meant]) => server.canTell(knobs, meant));
  const untold = anyTurn.filter(([knobs, meant]) => !server.canTell(knobs, meant) && !server.mayLie(knobs));

  it("has every call run once, as the model wrote it, and all be heard that it said", () =>
    fc.assert(
      fc.asyncProperty(turn, async ([knobs, meant, how, numbers]) => {
        const dice = diceOf(numbers);
        const frames = framesOf(server.send(knobs, meant, dice), how, dice);
        const { ran, turn: read } = await ranOf(server, frames.join(""), dice);
        expect(ran).toEqual(meant.map(one).toSorted());
        expect(read.providerToolCalls.filter(({ status }) => status === "started")).toEqual([]);
        const { text, reasoning } = server.says(knobs);
        expect([read.text, read.reasoning]).toEqual([text ? SAID : "", reasoning ? SAID : ""]);
      }),
      { numRuns: 150 },
    ));

  const truthful = turn.filter(([knobs]) => !server.mayLie(knobs));
  const end = fc.oneof(fc.constantFrom("limit" as const, "failure" as const), fc.nat());
  it("that is cut, reaches a limit or fails, has none run but those, and no write before its end", () =>
    fc.assert(
      fc.asyncProperty(truthful, fc.nat(), end, async ([knobs, meant, how, numbers], at, more) => {
        const dice = diceOf(numbers);
        const events = server.send(knobs, meant, dice);
        const whole = events.slice(0, at % events.length);
        const rest =
          more === "limit" ? server.cutShort : more === "failure" ? [server.failure] : events.slice(whole.length);
        const frames = framesOf([...whole, ...rest], how, dice);
        const cut = typeof more === "number" ? frames.splice(whole.length)[0]! : "";
        const text = frames.join("") + cut.slice(0, Number(more) % (cut.length - 1));
        const { ran, turn: read } = await ranOf(server, text, dice);
        expectAmong(ran, meant.map(one));
        if (read.error !== undefined || read.finishReason === "length") expect(ran.join()).not.toContain("write");
        if (more === "failure") expect(read.error).toBeDefined();
      }),
      { numRuns: 150 },
    ));

  if (server.isNeverGuessed !== true) return;
  it("whose calls nothing tells apart has none run but those", () =>
    fc.assert(
      fc.asyncProperty(untold, async ([knobs, meant, how, numbers]) => {
        const dice = diceOf(numbers);
        const frames = framesOf(server.send(knobs, meant, dice), how, dice);
        expectAmong((await ranOf(server, frames.join(""), dice)).ran, meant.map(one));
      }),
      { numRuns: 150 },
    ));
});
