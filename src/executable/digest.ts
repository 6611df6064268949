import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";

/** The state of a file, and its first bytes. */
export interface FileDigest {
  /** Of its content: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** At most 64 bytes. */
  readonly header: Buffer;
}

interface Known extends FileDigest {
  readonly stamp: string;
}

/**
 * The digests of files. A file whose inode, size and times are unchanged is not read again. As in git, that is trusted
 * only if its last change was clearly before it was read, since file system clocks are coarse
 * (https://git-scm.com/docs/racy-git).
 */
export interface Digests {
  /** Rejects with the system's error. */
  of(file: string): Promise<FileDigest>;
}

const COARSE_CLOCK_MS = 2_000;

export function createDigests(): Digests {
  const known = new Map<string, Known>();

  return {
    async of(file) {
      const handle = await open(file, "r");
      try {
        const { stamp, changedAt } = await stateOf(handle);
        const before = known.get(file);
        if (before?.stamp === stamp) return before;
        const read = { stamp, ...(await readDigest(handle)) };
        if (Date.now() - changedAt > COARSE_CLOCK_MS) known.set(file, read);
        else known.delete(file);
        return read;
      } finally {
        await handle.close();
      }
    },
  };
}

async function stateOf(handle: FileHandle): Promise<{ stamp: string; changedAt: number }> {
  const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await handle.stat({ bigint: true });
  return { stamp: [dev, ino, size, mtimeNs, ctimeNs].join(), changedAt: Number(ctimeMs) };
}

async function readDigest(handle: FileHandle): Promise<FileDigest> {
  const hash = createHash("sha256");
  let header = Buffer.alloc(0);
  for await (const bytes of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    hash.update(bytes);
    if (header.length < 64) header = Buffer.concat([header, bytes.subarray(0, 64 - header.length)]);
  }
  return { digest: `sha256:${hash.digest("hex")}`, header };
}
