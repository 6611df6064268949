import fc from "fast-check";
import { google } from "../../../adapters/google/index.ts";
import { cut, flag, isEmpty, SAID, server, sse, type Dice, type Json } from "./support.ts";

type Path = readonly (string | number)[];

function leaves(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  if (typeof value !== "object" || value === null) return [{ path, value }];
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [...keys].flatMap((key) => leaves((value as Json)[key as string], [...path, key]));
}

function hasHoles(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isEmpty(value) || Object.values(value).some(hasHoles);
}

function jsonPath(path: Path, dice: Dice): string {
  const step = (key: string | number) => {
    if (typeof key === "number") return `[${key}]`;
    return /^[A-Za-z_]\w*$/.test(key) && dice(2) === 0 ? `.${key}` : `[${JSON.stringify(key)}]`;
  };
  return `$${path.map(step).join("")}`;
}

export const gemini = server({
  adapter: google,
  knobs: {
    isWhole: flag,
    id: fc.constantFrom("none", "own", "same"),
    ends: fc.constantFrom("apart", "with the last piece", "untold"),
    isNamedAgain: flag,
    isStringEnded: flag,
    finish: fc.constantFrom("apart", "with the last part", "with empty text"),
    isArray: flag,
    hasText: flag,
  },
  canTell({ isWhole, id, ends, isNamedAgain }, calls) {
    if (isWhole) return true;
    // There is no piece for an empty object or list.
    if (calls.some(({ input }) => !isEmpty(input) && hasHoles(input))) return false;
    return (ends !== "untold" || id !== "same") && (!isNamedAgain || id === "own");
  },
  send({ isWhole, id, ends, isNamedAgain, isStringEnded, finish, isArray, hasText }, calls, dice) {
    const parts: Json[] = hasText ? cut(SAID, dice).map((text) => ({ text })) : [];
    calls.forEach(({ name, input }, i) => {
      const head = { name, id: { none: undefined, own: `id_${i}`, same: "id" }[id] };
      if (isWhole || isEmpty(input)) {
        parts.push({ functionCall: { ...head, ...(!(isEmpty(input) && dice(2) === 0) && { args: input }) } });
        return;
      }
      parts.push({ functionCall: { ...head, willContinue: true }, thoughtSignature: "c2ln" });
      const pieces = leaves(input).flatMap(({ path, value }): Json[] => {
        const at = { jsonPath: jsonPath(path, dice) };
        if (value === null) return [{ ...at, nullValue: "NULL_VALUE" }];
        if (typeof value === "number") return [{ ...at, numberValue: value }];
        if (typeof value === "boolean") return [{ ...at, boolValue: value }];
        const cuts = cut(value as string, dice);
        const goesOn = (n: number) => isStringEnded || n < cuts.length - 1;
        const said = cuts.map((piece, n) => ({ ...at, stringValue: piece, ...(goesOn(n) && { willContinue: true }) }));
        return isStringEnded || cuts.length === 0 ? [...said, { ...at, stringValue: "" }] : said;
      });
      while (pieces.length > 0) {
        const partialArgs = pieces.splice(0, 1 + dice(4));
        const isEnd = pieces.length === 0 && ends === "with the last piece";
        const again = isNamedAgain ? head : {};
        parts.push({ functionCall: { ...again, partialArgs, ...(!isEnd && { willContinue: true }) } });
      }
      if (ends === "apart") parts.push({ functionCall: {} });
    });
    const events: Json[] = [];
    while (parts.length > 0) {
      const some = parts.splice(0, 1 + dice(3));
      const isLast = parts.length === 0 && finish === "with the last part";
      const content = { role: "model", parts: some };
      events.push({ candidates: [{ index: 0, content, ...(isLast && { finishReason: "STOP" }) }] });
    }
    const content = { role: "model", parts: [{ text: "" }] };
    if (finish === "apart") events.push({ candidates: [{ index: 0, finishReason: "STOP" }] });
    if (finish === "with empty text") events.push({ candidates: [{ index: 0, content, finishReason: "STOP" }] });
    if (!isArray) return sse(events, false);
    const end = (i: number) => (i === events.length - 1 ? "]" : "");
    return events.map((event, i) => (i === 0 ? "[" : ",\r\n") + JSON.stringify(event, null, 2) + end(i));
  },
  cutShort({ isArray }, sent) {
    const end = { candidates: [{ index: 0, finishReason: "MAX_TOKENS" }] };
    return isArray ? [`${sent.length === 0 ? "[" : ","}${JSON.stringify(end)}]`] : sse([end], false);
  },
});
