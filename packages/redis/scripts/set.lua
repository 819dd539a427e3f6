-- The most common step: sets fields of a record on a condition, and nothing else. Its time to live, its requests and
-- its job index entries stay unchanged. `write.lua` is the general step. Steps of several callers share one script.
--
-- KEYS  of each step: record and, unless its shape has a '*', names and counter of revisions. Otherwise their names are
--       computed from that of the record, which costs less than sending them; but in a Cluster that moves the slot, a
--       script may stop at a key that was not named
-- ARGV  of each step: its shape and key, then expected fields with values, absent fields, set fields with values. The
--       shape is five characters: '1' or '0' if the record must exist or not, else ' '; the number of expected fields,
--       of absent fields, and of set fields; '*' or ' '. The name of a set field follows its checksum and a NUL
-- Returns 8 * revision + 4 * applied + 2 * existed of each step, or the error that prevented it.

local META, ZERO, STAR = '\0', 48, 42
local call, try, match, byte = redis.call, redis.pcall, string.match, string.byte
local find, sub = string.find, string.sub

local function meets(record, expected, absent, set)
  for at = expected, absent - 1, 2 do
    if call('HGET', record, ARGV[at]) ~= ARGV[at + 1] then return false end
  end
  for at = absent, set - 1 do
    if call('HEXISTS', record, ARGV[at]) == 1 then return false end
  end
  return true
end

-- The counters that were used, with the last revision taken from each and the number not yet added to it. Steps of one
-- script share the cost of updating a counter.
local given, owed, used = {}, {}, {}

local function nextRevision(counter)
  local revision = given[counter]
  if revision then
    owed[counter] = owed[counter] + 1
    revision = revision + 1
  else
    revision = try('INCRBY', counter, 1)
    if type(revision) == 'table' then return nil, revision end
    used[#used + 1], owed[counter] = counter, 0
  end
  given[counter] = revision
  return revision
end

-- Returns the start of all keys of the record's bucket: `tidemark:{b07}:`.
local function tagOf(record)
  return sub(record, 1, find(record, '}:', 1, true) + 1)
end

local function namesOf(record)
  local tag = tagOf(record)
  local kind, tenant = match(record, '^([^:]*):([^:]*):', #tag + 1)
  return tag .. kind .. '-names:' .. tenant
end

local function carryOut(record, names, counter, shape, exists, expected, absent, set, ends)
  -- Of these commands, only the first read and the first write can fail.
  local read = try('HMGET', record, META, ARGV[expected])
  if read.err then return read end
  local meta = read[1]
  local existed = meta and 2 or 0
  local holds = not ((exists == ZERO and meta) or (exists == ZERO + 1 and not meta))
  if set - expected == 2 and absent == set then
    holds = holds and read[2] == ARGV[expected + 1]
  else
    holds = holds and meets(record, expected, absent, set)
  end
  if not holds then return 8 * (meta and match(meta, '^%d+') or 0) + existed end
  local revision, refused = nextRevision(counter)
  if refused then return refused end
  local written = meta and revision .. match(meta, '^%d+(.*)$') or revision
  if ends - set == 2 then
    local named = ARGV[set]
    local cut = find(named, META, 1, true)
    call('HSET', record, META, written, sub(named, cut + 1), ARGV[set + 1], sub(named, cut), sub(named, 1, cut - 1))
  else
    local fields = { META, written }
    for at = set, ends - 1, 2 do
      local named = ARGV[at]
      local cut, count = find(named, META, 1, true), #fields
      fields[count + 1], fields[count + 2] = sub(named, cut + 1), ARGV[at + 1]
      fields[count + 3], fields[count + 4] = sub(named, cut), sub(named, 1, cut - 1)
    end
    call('HSET', record, unpack(fields))
  end
  if not meta then
    names = names or namesOf(record)
    call('ZADD', names, 0, sub(shape, 6))
    noteTenant(names)
  end
  return 8 * revision + 4 + existed
end

local replies, keyAt, at, count, last = {}, 0, 1, 0, #ARGV
while at <= last do
  local shape = ARGV[at]
  local exists, expecteds, absents, sets, star = byte(shape, 1, 5)
  local expected = at + 1
  local absent = expected + 2 * (expecteds - ZERO)
  local set = absent + absents - ZERO
  at = set + 2 * (sets - ZERO)
  count = count + 1
  local record, names, counter = KEYS[keyAt + 1], nil, nil
  if star == STAR then
    counter = tagOf(record) .. 'revision'
    keyAt = keyAt + 1
  else
    names, counter = KEYS[keyAt + 2], KEYS[keyAt + 3]
    keyAt = keyAt + 3
  end
  replies[count] = carryOut(record, names, counter, shape, exists, expected, absent, set, at)
end
for _, counter in ipairs(used) do
  if owed[counter] > 0 then call('INCRBY', counter, owed[counter]) end
end
return replies
