-- The most common step: changes fields of a record on conditions, and leaves its time to live and its requests alone.
-- `write.lua` is the general step. Steps of several callers share one script.
--
-- KEYS  of each step: record; the other keys are computed from it, which costs less than sending them. In a Cluster they
--       are named too, because while a slot moves, a script may stop at a key that was not named
-- ARGV  of each step: its shape and key; names of expected and of absent fields; expected values; the known revision,
--       if there is one; set fields with values; dropped fields; stamped fields with offsets; index entries of a job,
--       each as an offset or '', and what precedes the time. The shape has twelve bytes: the length of the start of
--       the bucket's keys; how many KEYS; 1 or 2 if the record must or must not exist; 1 if the time to live is
--       cleared; 1 if the caller needs the record, 2 if only unless its revision is the known one; 1 if it is a job;
--       the numbers of expected, absent, set, dropped and stamped fields and of index entries
-- Returns for each step -1 if it needs the general step, or 8 * revision + 4 * applied + 2 * existed. If the caller needs
-- the record, a list of that, the time, the time to live or -1, and the fields unless the caller can tell them.

local META, COLON = '\0', 58
local call, byte, sub, find, match = redis.call, string.byte, string.sub, string.find, string.match

local function outcomeOf(code, wants, record, expiresAt)
  if wants == 0 then return code end
  local ttl = expiresAt and math.max(expiresAt - clock(), 1) or -1
  return { code, clock(), ttl, call('HGETALL', record) }
end

local function addToIndex(tag, record, key)
  local kind, tenant = match(record, '^([^:]*):([^:]*):', #tag + 1)
  local names = tag .. kind .. '-names:' .. tenant
  call('ZADD', names, 0, key)
  noteTenant(names)
end

local function indexJob(tag, record, key, from, to)
  local places, tenant = {}, match(record, '^[^:]*:([^:]*):', #tag + 1)
  for at = from, to, 2 do
    local offset, place = ARGV[at], ARGV[at + 1]
    places[#places + 1] = offset == '' and place or place .. paddedTimeAfter(offset)
  end
  movePlaces(tag .. 'jobs:' .. tenant, tag .. 'job-places:' .. tenant, key, places)
end

local function carryOut(record, shape, tag, exists, clears, wants, isJob, expected, absent, values, set, dropped, stamped,
  places, ends)
  local read = call('HMGET', record, META, unpack(ARGV, expected, values - 1))
  local meta = read[1]
  local existed = meta and 2 or 0
  local holds = exists == 0 or (exists == 1) == (existed == 2)
  for at = 0, absent - expected - 1 do holds = holds and read[2 + at] == ARGV[values + at] end
  for at = absent - expected, values - expected - 1 do holds = holds and not read[2 + at] end
  if not holds then
    if not meta then return wants == 0 and 0 or { 0, clock(), -1 } end
    local before, expiresAt = match(meta, '^(%d+):?(%d*)')
    return outcomeOf(8 * before + existed, wants, record, tonumber(expiresAt))
  end
  local cut = meta and find(meta, '%D')
  if cut and (cut == 1 or (byte(meta, cut) == COLON and (clears == 1 or wants > 0))) then return -1 end
  local revisions = revisionsOf(tag .. 'revision')
  local revision = revisions.last + 1
  local written = cut and revision .. sub(meta, cut) or revision
  local stamps = places - stamped
  if stamps == 0 then
    call('HSET', record, META, written, unpack(ARGV, set, dropped - 1))
  elseif stamps == 2 then
    call('HSET', record, META, written, ARGV[stamped], timeAfter(ARGV[stamped + 1]), unpack(ARGV, set, dropped - 1))
  else
    local fields = { META, written }
    for at = stamped, places - 1, 2 do
      fields[#fields + 1] = ARGV[at]
      fields[#fields + 1] = timeAfter(ARGV[at + 1])
    end
    for at = set, dropped - 1 do fields[#fields + 1] = ARGV[at] end
    call('HSET', record, unpack(fields))
  end
  useRevision(revisions, revision)
  if meta and dropped < stamped then call('HDEL', record, unpack(ARGV, dropped, stamped - 1)) end
  local key = (not meta or isJob == 1) and sub(shape, 13)
  if not meta then addToIndex(tag, record, key) end
  if isJob == 1 then indexJob(tag, record, key, places, ends - 1) end
  local code = 8 * revision + 4 + existed
  if wants > 0 and (not meta or (wants == 2 and (cut and sub(meta, 1, cut - 1) or meta) == ARGV[set - 1])) then
    return { code, clock(), -1 }
  end
  return outcomeOf(code, wants, record)
end

local replies, keyAt, at, last = {}, 1, 1, #ARGV
while at <= last do
  local shape, record = ARGV[at], KEYS[keyAt]
  local length, keys, exists, clears, wants, isJob, expecteds, absents, sets, droppeds, stampeds, places =
    byte(shape, 1, 12)
  local expected = at + 1
  local absent = expected + expecteds
  local values = absent + absents
  local set = values + expecteds
  if wants == 2 then set = set + 1 end
  local dropped = set + 2 * sets
  local stamped = dropped + droppeds
  local placed = stamped + 2 * stampeds
  at = placed + 2 * places
  keyAt = keyAt + keys
  replies[#replies + 1] = attempt(carryOut, record, shape, sub(record, 1, length), exists, clears, wants, isJob,
    expected, absent, values, set, dropped, stamped, placed, at)
end
storeRevisions()
return replies
