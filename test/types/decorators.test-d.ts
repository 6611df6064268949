// Checked twice by tsc: as standard decorators by the root tsconfig, as legacy ones by ./legacy/tsconfig.json.
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { jsonSchema } from "../../src/schema/index.ts";
import { tool } from "../../src/tool/decorator.ts";
import type { ToolContext } from "../../src/tool/tool.ts";

const city = z.object({ city: z.string(), days: z.number().default(1) });

export class Accepted {
  readonly days = new Map<string, number>();

  @tool({
    inputSchema: city,
    needsApproval(this: Accepted, { days }) {
      return days > this.days.size;
    },
    undo(this: Accepted, { input }) {
      this.days.delete(input.city);
    },
  })
  rulesOfTheObject({ city: name, days }: { city: string; days: number }) {
    this.days.set(name, days);
  }

  @tool({ inputSchema: city })
  same(_input: { city: string; days: number }) {}

  @tool({ inputSchema: city })
  fewer(_input: { city: string }) {}

  @tool({ inputSchema: city })
  async none() {}

  @tool({ inputSchema: city })
  unknown(_input: unknown, _context: ToolContext) {}

  @tool({ inputSchema: city })
  optional(_input: { city: string; country?: string }, _context?: ToolContext) {}

  @tool({ inputSchema: city })
  static ofTheClass(_input: { city: string }) {}

  @tool({ inputSchema: v.object({ city: v.string() }) })
  valibot(_input: { city: string }) {}

  @tool({ inputSchema: type({ city: "string" }) })
  arktype(_input: { city: string }) {}

  @tool({ inputSchema: jsonSchema<{ city: string }>({ type: "object" }) })
  typedJsonSchema(_input: { city: string }) {}

  @tool({ inputSchema: { type: "object", properties: { city: { type: "string" } } } })
  jsonSchema(_input: { city: string }) {}

  @tool({ inputSchema: city.transform(({ city: name }) => name.length) })
  transformed(_length: number) {}

  @tool({ inputSchema: city, name: "other.name", effect: "read", eager: false, repair: "off", metadata: { a: 1 } })
  protected options(_input: { city: string }) {}
}

export class Refused {
  // @ts-expect-error: a number where the schema gives a string
  @tool({ inputSchema: city })
  wrongType(_input: { city: number }) {}

  // @ts-expect-error: needs a property that the schema does not give
  @tool({ inputSchema: city })
  wantsMore(_input: { city: string; country: string }) {}

  // @ts-expect-error: the schema gives an object
  @tool({ inputSchema: city })
  wrongKind(_input: string) {}

  // @ts-expect-error: there is no third argument
  @tool({ inputSchema: city })
  wantsThird(_input: { city: string }, _context: ToolContext, _third: number) {}

  // @ts-expect-error: the second argument is the context
  @tool({ inputSchema: city })
  wrongContext(_input: { city: string }, _context: string) {}

  // @ts-expect-error: static methods are checked too
  @tool({ inputSchema: city })
  static ofTheClass(_input: { city: number }) {}

  // @ts-expect-error: the handler receives what the transform returns
  @tool({ inputSchema: city.transform(({ city: name }) => name.length) })
  transformed(_input: { city: string }) {}

  // @ts-expect-error: valibot's types count as well
  @tool({ inputSchema: v.object({ city: v.string() }) })
  valibot(_input: { city: number }) {}

  // @ts-expect-error: arktype's too
  @tool({ inputSchema: type({ city: "string" }) })
  arktype(_input: { city: number }) {}

  // @ts-expect-error: only methods are tools
  @tool({ inputSchema: city })
  field = 1;

  // @ts-expect-error: no such effect
  @tool({ inputSchema: city, effect: "delete" })
  wrongOption(_input: { city: string }) {}
}

// @ts-expect-error: a class is no tool
@tool({ inputSchema: city })
export class NoTool {}
