-- Appends entries to a journal if its last sequence is the one the writer knows and none of their keys is stored.
-- Otherwise writes nothing and returns the current head and the entries that are already stored. A writer that sends a
-- number of rewrites is refused when the journal's differs, and one that sends a text to follow when the state does not
-- contain it. Commits of several callers share one script; one that fails does not affect the others.
--
-- KEYS  of each commit: head, log; for runs also feed; for the first commit of a run also list, list of the tenant,
--       names; for the first commit of any journal also journals of the tenant, tenants
-- ARGV  of each commit: how many keys, how many entries, known, rewrites or '', text to follow or '', state, tenant, name,
--       then key and body of each entry
-- The head is a hash: '\0head' holds `seq createdAt updatedAt`, a line end and the owner's state; every key its
-- sequence.

local HEAD, GONE, REWRITES = '\0head', '\0tombstone', '\0rewrites'

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function write(commit, seq, createdAt, time)
  local timeText = string.format('%.0f', time)
  local first = createdAt or timeText
  local fields = { HEAD, string.format('%.0f %s %s\n', seq + commit.count, first, timeText) .. commit.state }
  for entry = 1, commit.count do
    local key, body = ARGV[commit.at + 2 * entry - 1], ARGV[commit.at + 2 * entry]
    local place = string.format('%.0f', seq + entry)
    fields[2 * entry + 1], fields[2 * entry + 2] = key, place
    redis.call('XADD', commit.log, place .. '-0', 'time', timeText, 'key', key, 'body', body)
  end
  for from = 1, #fields, 2000 do
    redis.call('HSET', commit.head, unpack(fields, from, math.min(from + 1999, #fields)))
  end
  local tenant, name = commit.tenant, commit.name
  if commit.feed then
    local events = string.format('%.0f %.0f', seq + 1, commit.count)
    redis.call('XADD', commit.feed, '*', 'run', tenant .. '\0' .. name, 'events', events)
  end
  if commit.list then
    local since = string.format('%016.0f', first) .. '\0'
    redis.call('ZADD', commit.list, 0, since .. tenant .. '\0' .. name)
    redis.call('ZADD', commit.tenantList, 0, since .. name)
    redis.call('ZADD', commit.names, 0, name .. '\0' .. tenant)
  end
  if commit.journals then
    redis.call('ZADD', commit.journals, 0, name)
    redis.call('ZADD', commit.tenants, 0, tenant)
  end
end

local function carryOut(commit)
  local stored = redis.call('HMGET', commit.head, HEAD, GONE, REWRITES, ARGV[commit.at + 1])
  local head, tombstone, rewrites, found = stored[1], stored[2], stored[3] or '0', { stored[4] or nil }
  for entry = 2, commit.count do
    local seq = redis.call('HGET', commit.head, ARGV[commit.at + 2 * entry - 1])
    if seq then found[#found + 1] = seq end
  end
  local seq, createdAt, updatedAt = 0, nil, 0
  if head then
    seq, createdAt, updatedAt = string.match(head, '^(%d+) (%d+) (%d+)\n')
    seq, updatedAt = tonumber(seq), tonumber(updatedAt)
  end
  local isKnown = seq == commit.known and (commit.rewrites == '' or commit.rewrites == rewrites)
    and (commit.follows == '' or (head and string.find(head, commit.follows, 1, true)))
  if not tombstone and isKnown and #found == 0 then
    local time = math.max(now, updatedAt)
    write(commit, seq, createdAt, time)
    return time
  end
  local entries = {}
  for index, of in ipairs(found) do
    entries[index] = redis.call('XRANGE', commit.log, of .. '-0', of .. '-0')[1]
  end
  return { head, tombstone, entries, rewrites }
end

local replies, keyAt, at = {}, 0, 0
while at < #ARGV do
  local keys, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local commit = {
    head = KEYS[keyAt + 1], log = KEYS[keyAt + 2], feed = (keys == 3 or keys == 8) and KEYS[keyAt + 3],
    list = keys > 4 and KEYS[keyAt + 4], tenantList = KEYS[keyAt + 5], names = KEYS[keyAt + 6],
    journals = keys > 3 and KEYS[keyAt + keys - 1], tenants = KEYS[keyAt + keys],
    count = count, known = tonumber(ARGV[at + 3]), rewrites = ARGV[at + 4], follows = ARGV[at + 5], state = ARGV[at + 6],
    tenant = ARGV[at + 7], name = ARGV[at + 8], at = at + 8,
  }
  replies[#replies + 1] = attempt(carryOut, commit)
  keyAt, at = keyAt + keys, at + 8 + 2 * count
end
return replies
