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

local META, COLON, JOB = '\0', 58, 1
local call, try, byte, sub, find, match = redis.call, redis.pcall, string.byte, string.sub, string.find, string.match
local format = string.format

local function outcomeOf(code, wants, record, expiresAt)
  if wants == 0 then return code end
  local ttl = expiresAt and math.max(expiresAt - clock(), 1) or -1
  return { code, clock(), ttl, call('HGETALL', record) }
end

local function addToIndex(tag, record, key)
  local kind, tenant = match(record, '^([^:]*):([^:]*):', #tag + 1)
  local names = tag .. kind .. '-names:' .. tenant
  call('ZADD', names, '0', key)
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

-- Writes the fields and the store's own. If the server is out of memory, it refuses this, the first write of a step.
local function writeFields(record, written, set, dropped, stamped, places)
  local stamps = places - stamped
  if stamps == 0 then return try('HSET', record, META, written, unpack(ARGV, set, dropped - 1)) end
  local fields = { META, written, unpack(ARGV, set, dropped - 1) }
  for at = stamped, places - 1, 2 do
    fields[#fields + 1] = ARGV[at]
    fields[#fields + 1] = timeAfter(ARGV[at + 1])
  end
  return try('HSET', record, unpack(fields))
end

-- Returns the store's own field of the record, and whether the fields are as expected.
local function look(record, expected, absent, values)
  if values - expected < 2 then
    local meta = try('HGET', record, META)
    if values == expected or type(meta) == 'table' then return meta, true end
    local value = call('HGET', record, ARGV[expected])
    return meta, absent == expected and not value or value == ARGV[values]
  end
  local read = try('HMGET', record, META, unpack(ARGV, expected, values - 1))
  if read.err then return read, true end
  for at = 0, absent - expected - 1 do
    if read[2 + at] ~= ARGV[values + at] then return read[1], false end
  end
  for at = absent - expected, values - expected - 1 do
    if read[2 + at] then return read[1], false end
  end
  return read[1], true
end

local function carryOut(record, shape, length, exists, clears, wants, isJob, expected, absent, values, set, dropped,
  stamped, places, ends)
  local meta, holds = look(record, expected, absent, values)
  if type(meta) == 'table' then return meta end
  local existed = meta and 2 or 0
  if not holds or (exists == 1 and not meta) or (exists == 2 and meta) then
    if not meta then return wants == 0 and 0 or { 0, clock(), -1 } end
    -- Damage to the store's own field is for reads to report.
    local before, expiresAt = match(meta, '^(%d+):?(%d*)')
    return outcomeOf(8 * (before or 0) + existed, wants, record, tonumber(expiresAt))
  end
  local cut = meta and find(meta, '%D')
  if cut and (cut == 1 or (byte(meta, cut) == COLON and (clears == 1 or wants > 0))) then return -1 end
  local tag = sub(record, 1, length)
  local revisions = revisionsOf(tag)
  local revision = revisions.last + 1
  local text = format('%.0f', revision)
  local refused = writeFields(record, cut and text .. sub(meta, cut) or text, set, dropped, stamped, places)
  if type(refused) == 'table' then return refused end
  revisions.last = revision
  if meta and dropped < stamped then call('HDEL', record, unpack(ARGV, dropped, stamped - 1)) end
  if not meta then addToIndex(tag, record, sub(shape, 13)) end
  if isJob == JOB then indexJob(tag, record, sub(shape, 13), places, ends - 1) end
  local code = 8 * revision + 4 + existed
  if wants == 0 then return code end
  local isKnown = not meta or (wants == 2 and (cut and sub(meta, 1, cut - 1) or meta) == ARGV[set - 1])
  if isKnown then return { code, clock(), -1 } end
  return outcomeOf(code, wants, record)
end

local replies, count, keyAt, at, last = {}, 0, 1, 1, #ARGV

local function carryOutRest()
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
    at, keyAt, count = placed + 2 * places, keyAt + keys, count + 1
    replies[count] = carryOut(record, shape, length, exists, clears, wants, isJob, expected, absent, values, set,
      dropped, stamped, placed, at)
  end
end

-- One `attempt` for all steps costs less than one for each. It ends early only when a step fails, and each has a key.
for _ = 1, #KEYS do
  local problem = attempt(carryOutRest)
  if not problem then break end
  replies[count] = problem
end
storeRevisions()
return replies
