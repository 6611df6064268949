import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tool, toolsOf } from "../../src/tool/decorator.ts";
import type { UndoContext, UndoRecord } from "../../src/tool/policy.ts";
import type { ToolContext } from "../../src/tool/tool.ts";

const city = z.object({ city: z.string() });

class Weather {
  readonly #celsius: number;

  constructor(celsius = 21) {
    this.#celsius = celsius;
  }

  @tool({ description: "Current weather of a city.", inputSchema: city, effect: "read" })
  async getWeather({ city: name }: { city: string }) {
    return { city: name, celsius: this.#celsius };
  }

  @tool({ inputSchema: city, name: "forecast.week" })
  forecast({ city: name }: { city: string }, context: ToolContext) {
    return `${name} ${this.#celsius} ${context.toolCallId}`;
  }

  plain() {
    return "no tool";
  }

  @tool({ inputSchema: z.object({ celsius: z.number() }), effect: "read" })
  static toFahrenheit({ celsius }: { celsius: number }) {
    return celsius * 1.8 + 32 + this.offset;
  }

  static readonly offset: number = 0;
}

class Marine extends Weather {
  /** No decoration of its own: still the tool that the base class made of it. */
  override async getWeather({ city: name }: { city: string }) {
    return { city: `${name} harbour`, celsius: 9 };
  }

  @tool({ description: "Of the sea.", inputSchema: city, name: "sea_forecast", effect: "idempotent" })
  override forecast({ city: name }: { city: string }) {
    return `${name}: waves`;
  }

  @tool({ inputSchema: z.object({}) })
  tide() {
    return "high";
  }

  static override readonly offset: number = 100;
}

class Empty {
  nothing() {}
}

function names(tools: readonly { name: string; qualifiedName: string }[]): string[] {
  return tools.map((one) => `${one.name} = ${one.qualifiedName}`);
}

/** The same expectations for each kind of decorators; the importing test file says which one compiled this file. */
export function decoratorCases(kind: string): void {
  describe(`@tool, ${kind} decorators`, () => {
    it("is compiled as such", () => {
      let second: unknown;
      const look = (_first: any, given: any): void => void (second = given);
      class Any {
        @look
        method() {}
      }
      new Any().method();
      expect(typeof second).toBe(kind === "standard" ? "object" : "string");
    });

    it("makes decorated methods tools, under the method's name or the given one", () => {
      expect(names(toolsOf(new Weather()))).toEqual([
        "getWeather = Weather.getWeather",
        "forecast.week = Weather.forecast",
      ]);
    });

    it("keeps the options", () => {
      const [getWeather, forecast] = toolsOf(new Weather());
      expect(getWeather).toMatchObject({
        description: "Current weather of a city.",
        effect: "read",
        eager: true,
        repair: "coerce",
        mode: "internal",
      });
      expect(forecast).toMatchObject({ description: undefined, effect: "write", eager: false, repair: "syntax" });
    });

    it("runs the method on its own instance", async () => {
      const tools = [...toolsOf(new Weather(3)), ...toolsOf(new Weather(4))];
      const outputs = await Promise.all(
        tools.filter(({ name }) => name === "getWeather").map((one) => one.use({ city: "Oslo" }).execute()),
      );
      expect(outputs).toEqual([
        { city: "Oslo", celsius: 3 },
        { city: "Oslo", celsius: 4 },
      ]);
    });

    it("runs the rules that are functions on it, too", () => {
      class Notes {
        readonly saved = new Set<string>();

        @tool({
          inputSchema: city,
          approvalMessage(this: Notes, { city: name }) {
            return `${name}, after ${this.saved.size}?`;
          },
          needsApproval(this: Notes) {
            return this.saved.size > 0;
          },
          undo(this: Notes, { input }) {
            this.saved.delete(input.city);
          },
          toModelOutput(this: Notes, output: number) {
            return `${output} of ${this.saved.size}`;
          },
        })
        save({ city: name }: { city: string }) {
          return this.saved.add(name).size;
        }
      }
      const notes = new Notes();
      const [save] = toolsOf(notes);
      const { approvalMessage, needsApproval, undo, toModelOutput } = save!;
      const asks = needsApproval as (input: unknown, context: unknown) => boolean;
      expect(asks({}, {})).toBe(false);
      save!.use({ city: "Oslo" }).executeSync({ approved: true });
      expect(asks({}, {})).toBe(true);
      expect((approvalMessage as (input: unknown) => string)({ city: "Rome" })).toBe("Rome, after 1?");
      expect(toModelOutput!(1)).toBe("1 of 1");
      undo!({ input: { city: "Oslo" }, output: undefined, data: undefined } as UndoRecord, {} as UndoContext);
      expect(notes.saved.size).toBe(0);
    });

    it("hands the context to the method, and runs a sync one at once", () => {
      const forecast = toolsOf(new Weather())[1];
      expect(forecast?.use({ city: "Oslo" }, { id: "call_1" }).executeSync()).toBe("Oslo 21 call_1");
    });

    it("knows an async method before it runs", () => {
      const use = toolsOf(new Weather())[0]?.use({ city: "Oslo" });
      expect(() => use?.executeSync()).toThrow(expect.objectContaining({ code: "async_tool" }));
      expect(use?.executed).toBe(false);
    });

    it("finds static methods on the class", () => {
      const tools = toolsOf(Weather);
      expect(names(tools)).toEqual(["toFahrenheit = Weather.toFahrenheit"]);
      expect(tools[0]?.use({ celsius: 100 }).executeSync()).toBe(212);
    });

    it("inherits methods: qualified by the class that was instantiated, an override runs, its decoration wins", async () => {
      const tools = toolsOf(new Marine());
      expect(names(tools)).toEqual([
        "getWeather = Marine.getWeather",
        "sea_forecast = Marine.forecast",
        "tide = Marine.tide",
      ]);
      const outputs = await Promise.all(
        tools.map((one) => one.use(one.name === "tide" ? {} : { city: "Bergen" }).execute()),
      );
      expect(outputs).toEqual([{ city: "Bergen harbour", celsius: 9 }, "Bergen: waves", "high"]);
      expect(tools[0]?.effect).toBe("read");
      expect(tools[1]).toMatchObject({ effect: "idempotent", description: "Of the sea." });
    });

    it("leaves the base class as it was", () => {
      expect(names(toolsOf(new Weather()))).toEqual([
        "getWeather = Weather.getWeather",
        "forecast.week = Weather.forecast",
      ]);
    });

    it("runs an inherited static method on the subclass", () => {
      const [toFahrenheit] = toolsOf(Marine);
      expect(toFahrenheit?.qualifiedName).toBe("Marine.toFahrenheit");
      expect(toFahrenheit?.use({ celsius: 0 }).executeSync()).toBe(132);
    });

    it("refuses two tools of one name and names both", () => {
      expect(() => toolsOf(new Weather(), new Marine())).toThrow(
        expect.objectContaining({
          code: "duplicate_tool",
          message: expect.stringMatching(/getWeather.*Weather\.getWeather.*Marine\.getWeather/),
        }),
      );
    });

    it("says when there is nothing to find, and where to look", () => {
      class OnlyStatic {
        @tool({ inputSchema: z.object({}) })
        static now() {
          return 0;
        }
      }
      expect(() => toolsOf(new Empty())).toThrow(expect.objectContaining({ code: "invalid_tool" }));
      expect(() => toolsOf(new OnlyStatic())).toThrow(/toolsOf\(OnlyStatic\)/);
      expect(() => toolsOf(null as never)).toThrow(TypeError);
      expect(() => toolsOf(5 as never)).toThrow("takes objects and classes, got a number");
    });

    it("names the method whose schema cannot be used", () => {
      class Broken {
        @tool({ inputSchema: { type: "array" } })
        list() {}
      }
      expect(() => toolsOf(new Broken())).toThrow(/list.*array/);
    });

    it("needs a name for a method that has a symbol", () => {
      const key = Symbol("hidden");
      class Hidden {
        @tool({ inputSchema: z.object({}) })
        [key]() {}
      }
      expect(() => toolsOf(new Hidden())).toThrow(/needs the option "name"/);
      class Named {
        @tool({ name: "shown", inputSchema: z.object({}) })
        [key]() {}
      }
      expect(names(toolsOf(new Named()))).toEqual(["shown = Named.Symbol(hidden)"]);
    });

    it("refuses what is no method", () => {
      const decorate = tool({ inputSchema: z.object({}) }) as (...args: unknown[]) => void;
      expect(() => decorate(undefined, { kind: "field", name: "x", metadata: {} })).toThrow("x is a field");
      expect(() => decorate(() => {}, { kind: "method", name: "#x", private: true })).toThrow(TypeError);
      expect(() => decorate({}, "x", undefined)).toThrow(TypeError);
      expect(() => decorate(class {})).toThrow(TypeError);
      expect(() => tool(undefined as never)).toThrow(TypeError);
    });

    it("says that an object has put something else in a method's place", () => {
      class Replaced {
        @tool({ inputSchema: z.object({}) })
        getWeather() {}
      }
      const replaced = Object.assign(new Replaced(), { getWeather: "sunny" });
      expect(() => toolsOf(replaced)).toThrow(/Replaced\.getWeather: the method was replaced by string/);
    });

    it("survives another decorator that replaces the method", () => {
      const twice = (value: any, second: any, descriptor?: PropertyDescriptor): any => {
        const method = descriptor?.value ?? value;
        const replacement = function (this: unknown, ...args: unknown[]) {
          return [method.apply(this, args), method.apply(this, args)];
        };
        return typeof second === "object" ? replacement : { ...descriptor, value: replacement };
      };
      class Wrapped {
        @twice
        @tool({ inputSchema: z.object({}) })
        one(): any {
          return 1;
        }
      }
      expect(toolsOf(new Wrapped())[0]?.use({}).executeSync()).toEqual([1, 1]);
    });
  });
}
