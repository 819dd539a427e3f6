-- Appends entries to a journal if its last sequence is the one the writer knows and none of their keys is stored.
-- Otherwise writes nothing and returns the current head and the entries that are already stored. A writer that sends a
-- number of rewrites is refused when the journal's differs, and one that sends a text to follow when the state does not
-- contain it. Commits of several callers share one script; one that fails does not affect the others.
--
-- KEYS  of each commit: head, log; for runs also feed; for the first commit of a run also list, list of the tenant,
--       names; for the first commit of any journal also journals of the tenant, tenants
-- ARGV  of each commit: its shape and the known sequence; rewrites or ''; text to follow or ''; state; tenant, NUL and
--       name; first sequence and how many; key and sequence of each entry; bodies. The shape has four characters of
--       seven bits: how many keys, and how many entries in three
-- The head is a hash: '\0head' holds `seq createdAt updatedAt`, a line end and the owner's state; every key its
-- sequence.

local HEAD, GONE, REWRITES = '\0head', '\0tombstone', '\0rewrites'
-- A script cannot pass more arguments to a command at once.
local AT_ONCE = 4000
local call, sub, find, match, format = redis.call, string.sub, string.find, string.match, string.format

local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local nowText = format('%.0f', now)

local function addToLists(keyAt, keys, member, createdAt)
  local cut = find(member, '\0', 1, true)
  local tenant, name = sub(member, 1, cut - 1), sub(member, cut + 1)
  if keys > 4 then
    local since = format('%016.0f', createdAt) .. '\0'
    call('ZADD', KEYS[keyAt + 3], '0', since .. member)
    call('ZADD', KEYS[keyAt + 4], '0', since .. name)
    call('ZADD', KEYS[keyAt + 5], '0', name .. '\0' .. tenant)
  end
  call('ZADD', KEYS[keyAt + keys - 2], '0', name)
  call('ZADD', KEYS[keyAt + keys - 1], '0', tenant)
end

local function write(keyAt, keys, at, count, createdAt, time)
  local timeText = time == now and nowText or format('%.0f', time)
  local head, log, last = KEYS[keyAt], KEYS[keyAt + 1], at + 4 + 2 * count
  local bodies = last + 2
  local entry = at + 6
  for body = bodies, bodies + count - 1 do
    call('XADD', log, ARGV[entry + 1] .. '-0', 'time', timeText, 'key', ARGV[entry], 'body', ARGV[body])
    entry = entry + 2
  end
  local first = createdAt or timeText
  local text = ARGV[last + 1] .. ' ' .. first .. ' ' .. timeText .. '\n' .. ARGV[at + 3]
  for from = at + 6, bodies - 1, AT_ONCE do
    call('HSET', head, HEAD, text, unpack(ARGV, from, math.min(from + AT_ONCE, bodies) - 1))
  end
  if keys == 3 or keys == 8 then
    call('XADD', KEYS[keyAt + 2], '*', 'run', ARGV[at + 4], 'events', ARGV[at + 5])
  end
  if keys > 3 then addToLists(keyAt, keys, ARGV[at + 4], first) end
  return time
end

-- Returns what the head holds for itself, and the sequences of keys that are stored.
local function look(head, at, count)
  if count == 1 then
    local stored = call('HMGET', head, HEAD, GONE, REWRITES, ARGV[at + 6])
    return stored, { stored[4] or nil }
  end
  local found = {}
  for from = at + 6, at + 5 + 2 * count, AT_ONCE do
    local keys = {}
    for key = from, math.min(from + AT_ONCE, at + 6 + 2 * count) - 1, 2 do keys[#keys + 1] = ARGV[key] end
    for _, seq in ipairs(call('HMGET', head, unpack(keys))) do
      if seq then found[#found + 1] = seq end
    end
  end
  return call('HMGET', head, HEAD, GONE, REWRITES), found
end

local function carryOut(keyAt, keys, at, count, known)
  local stored, found = look(KEYS[keyAt], at, count)
  local head, tombstone, rewrites = stored[1], stored[2], stored[3] or '0'
  local seq, createdAt, updatedAt = '0', nil, '0'
  if head then seq, createdAt, updatedAt = match(head, '^(%d+) (%d+) (%d+)\n') end
  local wanted, follows = ARGV[at + 1], ARGV[at + 2]
  local isKnown = seq == known and (wanted == '' or wanted == rewrites)
    and (follows == '' or (head and find(head, follows, 1, true)))
  if not tombstone and isKnown and #found == 0 then
    return write(keyAt, keys, at, count, createdAt, math.max(now, tonumber(updatedAt)))
  end
  local entries = {}
  for index, of in ipairs(found) do entries[index] = call('XRANGE', KEYS[keyAt + 1], of .. '-0', of .. '-0')[1] end
  return { head, tombstone, entries, rewrites }
end

local replies, index, keyAt, at, last = {}, 0, 1, 1, #ARGV
while at <= last do
  local shape = ARGV[at]
  local keys, high, middle, low = string.byte(shape, 1, 4)
  local count = (high * 128 + middle) * 128 + low
  index = index + 1
  replies[index] = attempt(carryOut, keyAt, keys, at, count, sub(shape, 5))
  keyAt, at = keyAt + keys, at + 6 + 3 * count
end
return replies
