import { readdir, readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ToolError } from "../errors.ts";
import { wrongIn, type ReplayBehaviors } from "./behavior.ts";
import { loadRecording } from "./files.ts";
import { FORMATS, formatOf } from "./recording.ts";
import type { Recording } from "./recording.ts";

/**
 * One case of one wire. If there are several bodies, each request gets the next one, like the turns of a conversation,
 * starting over after the last; if `behavior` kept a part of the body back, the next request gets the same body again.
 */
export interface ReplayCase {
  /** The body of a streamed response. */
  readonly stream?: Recording | readonly Recording[] | undefined;
  /** The body of a response that is not streamed. */
  readonly whole?: Recording | readonly Recording[] | undefined;
  readonly behavior?: ReplayBehaviors | undefined;
}

/** A source of cases. Names are `<wire>/<case>`. */
export interface Fixtures {
  find(wire: string, name: string): Promise<ReplayCase | undefined>;
  /** The cases of one wire. */
  names(wire: string): Promise<string[]>;
}

/** The name of a case: no separators, no `..`, nothing hidden. */
const NAME = /^[^./\\][^/\\]*$/;

/** A body of a case: the first one, or that of a later turn. */
const BODY = /^stream(?:-(\d+))?\.(sse|ndjson|json)$/;

/**
 * Cases in a directory: `<wire>/<case>/stream.sse|.ndjson|.json`, with `stream-2.sse`, `stream-3.sse` for later turns,
 * and a `meta.json` whose `serve` may hold {@link ReplayBehaviors}. Read on every request, so that a changed file
 * takes effect immediately.
 */
export function fixturesIn(directory: string): Fixtures {
  return {
    async find(wire, name) {
      if (!NAME.test(name)) return undefined;
      const path = join(directory, wire, name);
      const files = await readdir(path).catch((): string[] => []);
      const whole = new Map<number, Recording>();
      const stream = new Map<number, Recording>();
      for (const format of Object.keys(FORMATS)) {
        for (const file of files) {
          const body = BODY.exec(file);
          if (body?.[2] !== format || !(await isInside(directory, join(path, file)))) continue;
          const recording = await loadRecording(join(path, file));
          const bodies = isWhole(recording) ? whole : stream;
          const turn = Number(body[1] ?? 1);
          if (!bodies.has(turn)) bodies.set(turn, recording);
        }
      }
      if (whole.size + stream.size === 0) return undefined;
      return {
        whole: inOrder(whole),
        stream: inOrder(stream),
        behavior: files.includes("meta.json") ? await behaviorOf(join(path, "meta.json")) : undefined,
      };
    },
    names: (wire) => directoriesIn(join(directory, wire)),
  };
}

/** Cases in memory. */
export function fixturesFrom(cases: ReadonlyMap<string, ReplayCase>): Fixtures {
  return {
    find: (wire, name) => Promise.resolve(cases.get(`${wire}/${name}`)),
    async names(wire) {
      const prefix = `${wire}/`;
      return [...cases.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    },
  };
}

function inOrder(turns: ReadonlyMap<number, Recording>): Recording[] {
  return [...turns].toSorted(([one], [other]) => one - other).map(([, recording]) => recording);
}

/** A single JSON document is a response that was not streamed; an array is a stream of its elements. */
function isWhole(recording: Recording): boolean {
  if (formatOf(recording) !== "json") return false;
  return new TextDecoder().decode(recording.bytes.subarray(0, 1024)).trimStart().startsWith("{");
}

async function behaviorOf(path: string): Promise<ReplayBehaviors | undefined> {
  let meta: { readonly serve?: ReplayBehaviors } | null;
  try {
    meta = JSON.parse(await readFile(path, "utf8")) as typeof meta;
  } catch (cause) {
    throw new ToolError("invalid_recording", `${path} is not JSON. Fix it or delete it.`, { cause });
  }
  const wrong = wrongIn(meta?.serve);
  if (wrong !== undefined) throw new ToolError("invalid_recording", `${path}: its "serve" ${wrong}.`);
  return meta?.serve;
}

/** Links are followed, but not out of the directory. */
async function isInside(directory: string, path: string): Promise<boolean> {
  try {
    const [root, real] = await Promise.all([realpath(directory), realpath(path)]);
    return real.startsWith(join(root, sep));
  } catch {
    return false;
  }
}

async function directoriesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() && NAME.test(entry.name))
    .map((entry) => entry.name)
    .toSorted();
}
