import { cyclesFrom } from "./cycles.ts";

/**
 * Whether a regular expression can take exponential time in a backtracking engine, as `^(a+)+$` does: whether a loop
 * can read one text in two ways. Schemas also come from elsewhere (servers, programs), and a model writes the text.
 *
 * The pattern becomes an automaton whose states are its characters. It is exponentially ambiguous if and only if some
 * state returns to itself on one text in two ways (Weber and Seidl, "On the degree of ambiguity of finite automata",
 * https://doi.org/10.1016/0304-3975(91)90381-B). Approximations: counted repetitions up to 10 are written out, longer
 * ones are read as a loop; if that gives too many states to analyze, those up to 10 are read once; characters are
 * compared by samples.
 *
 * @param pattern one that compiles with the `u` flag
 */
export function isExponential(pattern: string): boolean {
  try {
    // With too many states in any case, it is let through.
    return isAmbiguous(pattern, LONGEST_COUNT_WRITTEN_OUT) ?? isAmbiguous(pattern, 1) ?? false;
  } catch (error) {
    if (error instanceof RangeError) return true; // groups nested deeper than in any sane pattern
    throw error;
  }
}

/** A part of the pattern: the states it can begin and end with, and whether it can match the empty text. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly skippable: boolean;
}

const NOTHING: Part = { first: [], last: [], skippable: true };

/** With more states the analysis would cost more than it is worth. */
const MAX_STATES = 250;
const LONGEST_COUNT_WRITTEN_OUT = 10;
/** Not all that is written out has states: `(?:(?:){10}){10}`. */
const MAX_LENGTH = 10_000;

/** @returns `undefined` for a pattern with too many states */
function isAmbiguous(source: string, longestCount: number): boolean | undefined {
  const samples = sampleCharacters(source);
  const accepts: boolean[][] = []; // by state, by sample
  const edges: Set<number>[] = []; // by state: which follow
  let isDoubled = false; // one follows another in two ways, as in (a+)+: only loops make such an edge, so it is in one
  let pattern = source;
  let at = 0;

  readAlternatives();
  if (isDoubled) return true;
  return edges.length > MAX_STATES || pattern.length > MAX_LENGTH ? undefined : hasTwoWays();

  function readAlternatives(): Part {
    let all = readSequence();
    while (pattern[at] === "|") {
      at++;
      const next = readSequence();
      all = {
        first: [...all.first, ...next.first],
        last: [...all.last, ...next.last],
        skippable: all.skippable || next.skippable,
      };
    }
    return all;
  }

  function readSequence(): Part {
    let sequence = NOTHING;
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
      const next = readRepeated();
      connect(sequence.last, next.first);
      sequence = {
        first: sequence.skippable ? [...sequence.first, ...next.first] : sequence.first,
        last: next.skippable ? [...sequence.last, ...next.last] : next.last,
        skippable: sequence.skippable && next.skippable,
      };
    }
    return sequence;
  }

  function readRepeated(): Part {
    const start = at;
    const states = edges.length;
    const part = readAtom();
    const atom = pattern.slice(start, at);
    const [whole, low, comma, high] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(pattern.slice(at, at + 40)) ?? [];
    if (whole === undefined) return part;
    at += whole.length;
    const least = Number(low ?? (whole.startsWith("+") ? 1 : 0));
    const most = low === undefined ? Infinity : Number(high || (comma === "" ? low : Infinity));
    if (!whole.startsWith("?") && most > LONGEST_COUNT_WRITTEN_OUT) connect(part.last, part.first);
    if (most > longestCount || pattern.length > MAX_LENGTH || edges.length > MAX_STATES)
      return { ...part, skippable: part.skippable || least === 0 };
    // x{1,3} is x(?:x(?:x)?)?, which is read instead.
    const more = most - least;
    const written = `(?:${atom.repeat(least)}${`(?:${atom}`.repeat(more)}${")?".repeat(more)})`;
    pattern = pattern.slice(0, start) + written + pattern.slice(at);
    at = start;
    edges.length = accepts.length = states;
    return readAtom();
  }

  function readAtom(): Part {
    const rest = pattern.slice(at);
    const [opening, look] = /^\((?:\?(?:(<?[=!])|:|<[^>]*>|[a-z-]*:))?/.exec(rest) ?? [];
    if (opening !== undefined) {
      at += opening.length;
      const inside = readAlternatives();
      at++; // the closing parenthesis
      return look === undefined ? inside : NOTHING; // lookaround consumes nothing
    }
    const [atom] = /^(?:\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|k<[^>]*>|u.{4}|x..|c.|.)|.)/su.exec(rest)!;
    at += atom.length;
    if (/^(?:[\^$]|\\[bB])$/.test(atom)) return NOTHING; // so does an anchor
    if (edges.length > MAX_STATES) return NOTHING;
    const reference = /^\\(?:[1-9]|k<)/.test(atom); // to an earlier group: could be anything
    const expression = reference ? /^[^]$/u : new RegExp(`^${atom}$`, "u");
    const state = accepts.push(samples.map((character) => expression.test(character))) - 1;
    edges.push(new Set());
    return { first: [state], last: [state], skippable: false };
  }

  function connect(from: readonly number[], to: readonly number[]): void {
    for (const one of from)
      for (const other of to) {
        isDoubled ||= edges[one]!.has(other);
        edges[one]!.add(other);
      }
  }

  /** What holds for one state of a loop holds for all. */
  function hasTwoWays(): boolean {
    const following = [...edges, edges.keys()]; // one more state, which leads to all
    const loops = cyclesFrom(edges.length, (state) => [...following[state]!]);
    const states = [...loops.keys()].toSorted((one, other) => one - other);
    return [...Map.groupBy(states, (state) => loops.get(state)).values()].some((loop) => canPart(loop[0]!, loop));
  }

  /** Whether two readers of one text can leave a state together, diverge within the loop, and return together. */
  function canPart(start: number, loop: readonly number[]): boolean {
    const alike = new Map(loop.map((state) => [state, loop.filter((other) => overlap(state, other))]));
    const seen = new Set<number>();
    const open = [{ one: start, other: start, parted: false }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { one, other, parted: before } = pair;
      for (const a of edges[one]!) {
        for (const b of alike.get(a) ?? []) {
          if (!edges[other]!.has(b)) continue;
          const parted = before || a !== b;
          if (parted && a === start && b === start) return true;
          const key = (a * edges.length + b) * 2 + Number(parted);
          if (!seen.has(key)) open.push({ one: a, other: b, parted });
          seen.add(key);
        }
      }
    }
    return false;
  }

  function overlap(one: number, other: number): boolean {
    return accepts[one]!.some((accepted, sample) => accepted && accepts[other]![sample]);
  }
}

/** All of ASCII, the pattern's own characters, also those written as escapes, and some others. */
function sampleCharacters(pattern: string): string[] {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const own = pattern.replace(
    /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2})|.)/gis,
    (escape, point?: string, unit?: string, byte?: string) => {
      const hex = point ?? unit ?? byte;
      return hex === undefined ? escape : String.fromCodePoint(parseInt(hex, 16));
    },
  );
  return [...new Set([...ascii, ...own, ..."\u00a0éßøЖя中あ한ا😀\u2028\ufeff٣"])];
}
