export { memoryStore } from "./memory.ts";
export { storeKey } from "./store.ts";
export type { DeleteOptions, Json, ListOptions, PutOptions, Store, StoreChange, StoreEntry } from "./store.ts";
export { updateEntry, type UpdateOptions } from "./update.ts";
