let made = 0;

/**
 * An object that V8 14 reads wrong from now on, wherever `JSON.parse` is called in this process: it has a key with an
 * escape, where another text had another one. https://github.com/nodejs/node/issues/63785
 *
 * Each has a first key of its own, since the engine errs only where it has seen one key follow.
 */
export function misread(): Record<string, number> {
  const first = `first${made++}`;
  JSON.parse(`{"${first}":[],"\\\\":0}`);
  return { [first]: 1, '"': 2 };
}
