/** A call in a history. */
export interface HistoryCall {
  /** The provider's id; `""` if there is none. */
  readonly id: string;
  readonly name: string;
}

/** A result in a history, as a message of its own. */
export interface HistoryResult<Message> extends HistoryCall {
  readonly message: Message;
}

/** The calls and results in one message. */
export interface MessageParts<Message> {
  /** Whether the model wrote it. */
  readonly isModels: boolean;
  /** Default: none. */
  readonly calls?: readonly HistoryCall[];
  /** Default: none. */
  readonly results?: readonly HistoryResult<Message>[];
  /** What it holds besides its results. Default: nothing. */
  readonly rest?: Message | undefined;
  /** Something else stands among its results where the provider does not accept it. Default false. */
  readonly isMixed?: boolean;
  /** It may stand for calls that are not visible here: results after it without a call are kept. Default false. */
  readonly mayHoldCalls?: boolean;
}

/** How a provider's messages hold calls and results. */
export interface PairingRules<Message> {
  parts(message: Message): MessageParts<Message>;
  /** The result of a call that has none. `text` is for the model. */
  missing(call: HistoryCall, text: string): Message;
  /** Results grouped as the provider wants them. Default: one message after the other. */
  join?(results: readonly Message[]): Message[];
  /** Consecutive messages of the model are one turn. */
  readonly joinsTurns: boolean;
  /** Several messages of one turn as the provider wants them: as one. Default: as they are. */
  joinTurn?(messages: readonly Message[]): Message;
  /** All results of a turn must be in one message. */
  readonly inOneMessage?: boolean;
  /** Calls may be stored at the provider, so that a result without a call may have one there. */
  readonly keepsOrphans?: boolean;
}

/** What the model is told about a call of which nothing is known. Nothing is guessed. */
export const OUTCOME_UNKNOWN = "The outcome of this call is unknown: no result of it was recorded.";

interface Entry<Message> extends MessageParts<Message> {
  readonly message: Message;
  readonly calls: readonly HistoryCall[];
  readonly results: readonly HistoryResult<Message>[];
}

/** A turn of the model, and what came before the next one. The group before the first turn has none. */
interface Group<Message> {
  readonly turn: readonly Entry<Message>[];
  readonly answers: readonly Entry<Message>[];
  readonly calls: readonly HistoryCall[];
  /** The results in its answers, until they are moved. */
  results: HistoryResult<Message>[];
  isMoved: boolean;
}

/**
 * The messages, with exactly one result after every call, in call order and adjacent: providers reject a whole
 * conversation, permanently, for one call without a result or one result without a call.
 */
export function pairMessages<Message>(messages: readonly Message[], rules: PairingRules<Message>): Message[] {
  const groups = groupsOf(messages, rules);
  bringBack(groups);
  const paired: Message[] = [];
  for (const group of groups) {
    const { turn, answers, calls, results, isMoved } = group;
    for (const { message } of turn) paired.push(message);
    const isFirst = turn.length === 0;
    const keepsOrphans = isFirst ? rules.keepsOrphans === true : turn.some(({ mayHoldCalls }) => mayHoldCalls);
    if (!isMoved && (isInOrder(group, rules) || (keepsOrphans && calls.length === 0))) {
      for (const { message } of answers) paired.push(message);
    } else {
      paired.push(...resultsOf(calls, results, rules, keepsOrphans));
      for (const { rest } of answers) if (rest !== undefined) paired.push(rest);
    }
  }
  return paired;
}

function groupsOf<Message>(messages: readonly Message[], rules: PairingRules<Message>): Group<Message>[] {
  const entryOf = (message: Message): Entry<Message> => {
    const { calls = [], results = [], rest, ...parts } = rules.parts(message);
    return { ...parts, message, calls, results, rest: results.length === 0 ? message : rest };
  };
  const entries = messages.map(entryOf);
  const groups: Group<Message>[] = [];
  for (let at = 0; at < entries.length;) {
    let turn: Entry<Message>[] = [];
    while (entries[at]?.isModels === true && (turn.length === 0 || rules.joinsTurns)) turn.push(entries[at++]!);
    // Read again as one: a call that the server ran may have its result in another message.
    if (turn.length > 1 && rules.joinTurn) turn = [entryOf(rules.joinTurn(turn.map(({ message }) => message)))];
    const answers: Entry<Message>[] = [];
    while (entries[at]?.isModels === false) answers.push(entries[at++]!);
    const calls = turn.flatMap((entry) => entry.calls);
    groups.push({ turn, answers, calls, results: answers.flatMap((entry) => entry.results), isMoved: false });
  }
  return groups;
}

/** Moves a result that came after the model had gone on to its call: the last one with its id that has none. */
function bringBack<Message>(groups: readonly Group<Message>[]): void {
  /** For each id of calls without a result, the groups of those calls, latest last. */
  const open = new Map<string, Group<Message>[]>();
  for (const group of groups) {
    const ids = new Set(group.calls.map(({ id }) => id));
    group.results = group.results.filter((result) => {
      const { id } = result;
      const earlier = id === "" || ids.has(id) ? undefined : open.get(id)?.pop();
      if (earlier === undefined) return true;
      earlier.results.push(result);
      earlier.isMoved = group.isMoved = true;
      return false;
    });
    if (isAnswered(group)) continue;
    const { take } = unpaired(group.results);
    for (const call of group.calls) {
      if (take(call) !== undefined) continue;
      const same = open.get(call.id) ?? [];
      open.set(call.id, same);
      same.push(group);
    }
  }
}

/** Whether the results begin with those of all calls, in their order. */
function isAnswered<Message>({ calls, results }: Group<Message>): boolean {
  return calls.length <= results.length && calls.every((call, index) => isResultOf(results[index]!, call));
}

/** Whether everything is in order, so that the messages can be sent as they are. */
function isInOrder<Message>(group: Group<Message>, rules: PairingRules<Message>): boolean {
  const { calls, answers, results } = group;
  if (results.length !== calls.length || !isAnswered(group)) return false;
  const last = answers.findLastIndex((entry) => entry.results.length > 0);
  if (rules.inOneMessage === true && last > 0) return false;
  return answers
    .slice(0, last + 1)
    .every(({ isMixed, rest }, index) => isMixed !== true && (index === last || rest === undefined));
}

function resultsOf<Message>(
  calls: readonly HistoryCall[],
  given: readonly HistoryResult<Message>[],
  rules: PairingRules<Message>,
  keepsOrphans: boolean,
): Message[] {
  const { take, left } = unpaired(given);
  const results = calls.map((call) => take(call)?.message ?? rules.missing(call, OUTCOME_UNKNOWN));
  if (keepsOrphans) for (const { message } of left) results.push(message);
  return results.length === 0 ? [] : (rules.join?.(results) ?? results);
}

/**
 * Takes the results of calls, or the calls of results, out of a list, each once, the first that fits first: one with
 * the id or, if one of the two has no id, with the name. What is left can be read at any time.
 */
export function unpaired<Named extends HistoryCall>(
  entries: readonly Named[],
): { readonly left: ReadonlySet<Named>; take(other: HistoryCall): Named | undefined } {
  const left = new Set(entries);
  const keyed = entries
    .toReversed()
    .flatMap((entry) => [ownKey(entry), `~${entry.name}`].map((key) => ({ key, entry })));
  const byKey = Map.groupBy(keyed, ({ key }) => key);
  return {
    left,
    take(other) {
      for (const key of [ownKey(other), `${other.id === "" ? "~" : "="}${other.name}`]) {
        const found = byKey.get(key) ?? [];
        while (found.length > 0) {
          const { entry } = found.pop()!;
          if (left.delete(entry)) return entry;
        }
      }
      return undefined;
    },
  };
}

function ownKey({ id, name }: HistoryCall): string {
  return id === "" ? `=${name}` : `#${id}`;
}

/** Whether a result belongs to a call: by id, or by name if one of them has no id. */
function isResultOf(result: HistoryCall, call: HistoryCall): boolean {
  return result.id !== "" && call.id !== "" ? result.id === call.id : result.name === call.name;
}
