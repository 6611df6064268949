/** Makes `console.log()` of Node show what else an object has in getters: else a live call would be `ToolCall {}`. */
export function showGetters<T extends object>(prototype: T, names: readonly (keyof T)[]): void {
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), {
    value(this: T) {
      return { ...this, ...Object.fromEntries(names.map((name) => [name, this[name]])) };
    },
  });
}
