/** Keys in order (by UTF-16 code unit), each once. */
export interface SortedKeys {
  add(key: string): void;
  delete(key: string): void;
  /** Those from this key on, itself included if it is there. They must not change meanwhile. */
  from(key: string): Iterable<string>;
  clear(): void;
}

/** Twice as many and the block is cut in two. Small enough to insert into, large enough that blocks are few. */
const BLOCK = 512;

/**
 * A list of short sorted lists: putting a key between others moves at most a block of them, however many there are.
 *
 * ```
 * [ [a, b, c], [f, g], [k, l, m] ]      blocks are never empty, and each begins behind the end of the one before
 * ```
 */
export function createSortedKeys(): SortedKeys {
  const blocks: string[][] = [];

  /** The block that holds the key, or would: the last one that begins at or before it. */
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
      // Numbered keys come in their order, and the last block is left as it is: full, and the next one begins.
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

/** Where the key is in the block, or belongs. */
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
