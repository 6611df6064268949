/** Keys in order (by UTF-16 code unit), without duplicates. */
export interface SortedKeys {
  add(key: string): void;
  delete(key: string): void;
  /** The keys from this one on, including it if present. They must not change meanwhile. */
  from(key: string): Iterable<string>;
  clear(): void;
}

/** A block of twice as many is split. Small enough to insert into, large enough that there are few blocks. */
const BLOCK = 512;

/**
 * A list of short sorted lists: inserting a key moves at most one block of keys, however many there are.
 *
 * ```
 * [ [a, b, c], [f, g], [k, l, m] ]      blocks are never empty, and each begins after the end of the one before
 * ```
 */
export function createSortedKeys(): SortedKeys {
  const blocks: string[][] = [];

  /** The block that holds the key, or would hold it: the last one that begins at or before it. */
  function blockOf(key: string): number {
    let low = 0;
    let high = blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (blocks[middle]![0]! <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  return {
    add(key) {
      const at = blockOf(key);
      const block = blocks[at];
      if (block === undefined) return void blocks.push([key]);
      const position = positionOf(block, key);
      if (block[position] === key) return;
      // Numbered keys come in order: the last block stays as it is, full, and a new one begins.
      if (position === block.length && at === blocks.length - 1 && block.length >= BLOCK)
        return void blocks.push([key]);
      block.splice(position, 0, key);
      if (block.length >= 2 * BLOCK) blocks.splice(at + 1, 0, block.splice(BLOCK));
    },

    delete(key) {
      const at = blockOf(key);
      const block = blocks[at];
      if (block === undefined) return;
      const position = positionOf(block, key);
      if (block[position] !== key) return;
      block.splice(position, 1);
      if (block.length === 0) blocks.splice(at, 1);
    },

    *from(key) {
      for (let at = blockOf(key), first = true; at < blocks.length; at++, first = false) {
        const block = blocks[at]!;
        for (let position = first ? positionOf(block, key) : 0; position < block.length; position++) {
          yield block[position]!;
        }
      }
    },

    clear() {
      blocks.length = 0;
    },
  };
}

/** The index of the key in the block, or where it belongs. */
function positionOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
