import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createJsonParser, RootScan } from "../../src/json/index.ts";
import { cutAt, jsonText } from "./support.ts";

function scan(pieces: readonly string[], maxDepth = 128): RootScan {
  const root = new RootScan(maxDepth);
  for (const piece of pieces) root.feed(piece);
  return root;
}

describe("the scan for the end of the root", () => {
  it("says closed exactly where the parser does, in any JSON text, cut anywhere", () => {
    const roots = jsonText().filter((text) => /^[\s]*[{[]/.test(text));
    fc.assert(
      fc.property(roots, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        const root = new RootScan(128);
        const parser = createJsonParser();
        for (const piece of cutAt(text, cuts)) {
          root.feed(piece);
          parser.feed(piece);
          expect(root.state === "closed").toBe(parser.state === "closed");
        }
        expect(root.state).toBe("closed");
      }),
      { numRuns: 500 },
    );
  });

  it.each<[pieces: string[]]>([
    [['{"a":"\\', '"}', '"}']],
    [['{"a":"\\', "\\", '"}']],
    [['{"a":"\\\\', '"}']],
    [['{"a', '":"}', '"', "}", " \n"]],
    [["[", '{"}":1}', "]"]],
  ])("is not misled by %j", (pieces) => {
    expect(scan(pieces.slice(0, -1)).state).not.toBe("broken");
    expect(scan(pieces).state).toBe("closed");
  });

  it.each<[pieces: string[]]>([[["1"]], [['"{}"']], [["}"]], [["{}", "}"]], [["{} x"]], [["{}", " ", "{}"]]])(
    "gives %j up for good",
    (pieces) => {
      expect(scan(pieces).state).toBe("broken");
      expect(scan([...pieces, '{"a":1}']).state).toBe("broken");
    },
  );

  it("gives up what nests too deep", () => {
    expect(scan(["[[", "]]"], 2).state).toBe("closed");
    expect(scan(["[[", "[]]]"], 2).state).toBe("broken");
    expect(scan(["[[[", "]", "]"], 2).state).toBe("broken");
  });
});
