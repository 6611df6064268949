/**
 * An entry is one string, `<version> <expiresAt or 0> <write id> <json>`, so that one GET reads all of it and a script
 * can compare versions without reading the value. Next to the entries, which expire by themselves, are kept:
 *
 * KEYS[2] a sorted set of all keys, by name: what `list()` reads
 * KEYS[3] a sorted set of the expiring keys, by time: each put removes some expired ones from both sets
 * KEYS[4] the last version
 */
const HEAD = `
local exists = redis.call('EXISTS', KEYS[1]) == 1
local head = redis.call('GETRANGE', KEYS[1], 0, 127)
local version, expires, id = string.match(head, '^(%d+) (%d+) (%S+) ')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** One second after they expire, so that no key is removed that is still there. */
const SWEEP = `
local over = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - 1000, 'LIMIT', 0, 20)
if #over > 0 then
  redis.call('ZREM', KEYS[2], unpack(over))
  redis.call('ZREM', KEYS[3], unpack(over))
end
`;

/**
 * ARGV: key, json, expected version or "", ttl in ms or "keep" or "", write id, channel.
 * Returns { 1, version, expiresAt } or { 0, stored version }.
 *
 * A client that lost its connection before the answer may send the same command again: its write id is then the stored
 * one, and it gets the lost answer.
 *
 * Published before anything is written (nobody can read in between), so that a user who may not publish, as new users
 * may not since Redis 7, writes nothing. https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
 *
 * Versions are at least the time in microseconds. A server that lost its latest writes (a failover, an old backup) does
 * not reuse their versions.
 */
export const PUT = `${HEAD}
if exists and not version then return redis.error_reply('DAMAGED entry') end
if version and id == ARGV[5] then return { 1, version, expires } end
if ARGV[3] ~= '' and ARGV[3] ~= (version or '0') then return { 0, version or '0' } end
local last = tonumber(redis.call('GET', KEYS[4]) or '0')
version = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
if ARGV[4] == '' then expires = '0'
elseif ARGV[4] == 'keep' then expires = expires or '0'
else expires = string.format('%.0f', now + ARGV[4]) end
redis.call('PUBLISH', ARGV[6], 'put ' .. ARGV[1])
redis.call('SET', KEYS[4], version)
redis.call('SET', KEYS[1], version .. ' ' .. expires .. ' ' .. ARGV[5] .. ' ' .. ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
if expires == '0' then
  redis.call('ZREM', KEYS[3], ARGV[1])
else
  redis.call('PEXPIREAT', KEYS[1], expires)
  redis.call('ZADD', KEYS[3], expires, ARGV[1])
end
${SWEEP}
return { 1, version, expires }
`;

/** ARGV: key, expected version or "", channel. Returns { 1 }, { 0, stored version } or { 2 }: nothing was there. */
export const DELETE = `${HEAD}
if not exists then return { 2 } end
if ARGV[2] ~= '' and ARGV[2] ~= version then return { 0, version or '0' } end
redis.call('PUBLISH', ARGV[3], 'delete ' .. ARGV[1])
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return { 1 }
`;
