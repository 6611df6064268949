/** Makes Node's `console.log()` show an object's getters too: a live call would otherwise print as `ToolCall {}`. */
export function showGetters<T extends object>(prototype: T, names: readonly (keyof T)[]): void {
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), {
    value(this: T) {
      return { ...this, ...Object.fromEntries(names.map((name) => [name, this[name]])) };
    },
  });
}
