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
  readonly results: HistoryResult<Message>[];
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
  for (const { turn, answers, calls, results, isMoved } of groups) {
    for (const { message } of turn) paired.push(message);
    const isFirst = turn.length === 0;
    const keepsOrphans = isFirst ? rules.keepsOrphans === true : turn.some(({ mayHoldCalls }) => mayHoldCalls);
    if (!isMoved && (isInOrder(calls, answers, rules) || (keepsOrphans && calls.length === 0))) {
      for (const { message } of answers) paired.push(message);
    } else {
      paired.push(...resultsOf(calls, results, rules, keepsOrphans));
      for (const { rest } of answers) if (rest !== undefined) paired.push(rest);
    }
  }
  return paired;
}

function groupsOf<Message>(messages: readonly Message[], rules: PairingRules<Message>): Group<Message>[] {
  const entries = messages.map((message): Entry<Message> => {
    const { calls = [], results = [], rest, ...parts } = rules.parts(message);
    return { ...parts, message, calls, results, rest: results.length === 0 ? message : rest };
  });
  const groups: Group<Message>[] = [];
  for (let at = 0; at < entries.length;) {
    const turn: Entry<Message>[] = [];
    while (entries[at]?.isModels === true && (turn.length === 0 || rules.joinsTurns)) turn.push(entries[at++]!);
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
    const late = group.results.filter(({ id }) => id !== "" && !ids.has(id));
    for (const result of late) {
      const earlier = open.get(result.id)?.pop();
      if (earlier === undefined) continue;
      earlier.results.push(result);
      group.results.splice(group.results.indexOf(result), 1);
      earlier.isMoved = group.isMoved = true;
    }
    const left = [...group.results];
    for (const call of group.calls) {
      const at = left.findIndex((result) => isResultOf(result, call));
      if (at !== -1) {
        left.splice(at, 1);
        continue;
      }
      const same = open.get(call.id) ?? [];
      open.set(call.id, same);
      same.push(group);
    }
  }
}

/** Whether everything is in order, so that the messages can be sent as they are. */
function isInOrder<Message>(
  calls: readonly HistoryCall[],
  answers: readonly Entry<Message>[],
  rules: PairingRules<Message>,
): boolean {
  const results = answers.flatMap((entry) => entry.results);
  if (results.length !== calls.length || !results.every((result, index) => isResultOf(result, calls[index]!)))
    return false;
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
  const left = [...given];
  const results = calls.map((call) => {
    const at = left.findIndex((result) => isResultOf(result, call));
    return at === -1 ? rules.missing(call, OUTCOME_UNKNOWN) : left.splice(at, 1)[0]!.message;
  });
  if (keepsOrphans) results.push(...left.map(({ message }) => message));
  return results.length === 0 ? [] : (rules.join?.(results) ?? results);
}

/** Whether a result belongs to a call: by id, or by name if one of them has no id. */
export function isResultOf(result: HistoryCall, call: HistoryCall): boolean {
  return result.id !== "" && call.id !== "" ? result.id === call.id : result.name === call.name;
}
