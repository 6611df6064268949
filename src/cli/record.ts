import { parseArgs } from "node:util";
import { recordingProxy } from "../replay/index.ts";
import { fired, portOf, untilInterrupted } from "./serve.ts";
import { adapterNamed } from "./wires.ts";

export const usage = `toolstream record --wire NAME --url URL --out FILE [--port N]

Stands in front of a real endpoint and records the bodies of its responses. Point an SDK at it by its base URL.
Request headers, keys and cookies are passed on and never written.

  --wire NAME  keep only what is a request of this wire
  --url URL    the endpoint, for example https://api.openai.com
  --out FILE   where the first response goes; those after it get -2, -3, ...
  --port N     default: a free one`;

/** Records until it is interrupted. */
export async function recordCommand(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { wire: { type: "string" }, url: { type: "string" }, out: { type: "string" }, port: { type: "string" } },
  });
  const { wire, url, out } = values;
  if (wire === undefined || url === undefined || out === undefined) {
    throw new TypeError(`record needs --wire, --url and --out.\n\n${usage}`);
  }
  const stop = untilInterrupted();
  const proxy = await recordingProxy({
    url,
    out,
    wire: adapterNamed(wire),
    port: portOf(values.port),
    signal: stop,
    onRecording: (recording, response) => {
      const note = recording.complete ? "" : ", incomplete";
      process.stdout.write(
        `${response.file}: ${recording.bytes.length} bytes of ${response.method} ${response.path}${note}\n`,
      );
    },
  });
  process.stdout.write(`Recording ${url} at ${proxy.url}. Use it as the base URL. Press Ctrl+C to stop.\n`);
  await fired(stop);
  await proxy.close();
  return 0;
}
