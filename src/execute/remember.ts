/** Makes an entry the latest one of a map. Beyond `max` of them, the oldest is forgotten. */
export function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value!);
}
