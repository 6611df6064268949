/**
 * The nodes of a graph that lead back to themselves, each with its cycle: the same value for those that lead to one
 * another. These are the strongly connected components, found in one pass without recursion, since chains can be long:
 * https://en.wikipedia.org/wiki/Path-based_strong_component_algorithm
 */
export function cyclesFrom<Node>(start: Node, follow: (node: Node) => Node[]): ReadonlyMap<Node, Node> {
  const found = new Map<Node, Node>();
  /** In the order of discovery; `Infinity` once its component is complete. */
  const numbers = new Map<Node, number>();
  const links = new Map<Node, Node[]>();
  const path = [start];
  const unassigned: Node[] = [];
  /** Nodes on the path that cannot be in one component, as far as is known. */
  const apart: Node[] = [];
  for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
    if (!numbers.has(node)) {
      numbers.set(node, numbers.size);
      links.set(node, follow(node));
      unassigned.push(node);
      apart.push(node);
    }
    const next = links.get(node)!.pop();
    if (next !== undefined) {
      const number = numbers.get(next);
      if (number === undefined) path.push(next);
      else while (numbers.get(apart.at(-1)!)! > number) apart.pop();
      if (next === node) found.set(node, node);
      continue;
    }
    path.pop();
    if (apart.at(-1) !== node) continue;
    apart.pop();
    const component = unassigned.splice(unassigned.lastIndexOf(node));
    for (const one of component) {
      numbers.set(one, Infinity);
      if (component.length > 1) found.set(one, node);
    }
  }
  return found;
}
