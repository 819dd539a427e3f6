-- Claims jobs: finds the first ready ones in the indexes of all buckets and writes one for each claim. Only for a single
-- server. The keys of a record are computed from those of the index of its bucket.
--
-- KEYS  the index of jobs of each bucket; of each claim, a record that prevents it if it exists
-- ARGV  start and end of the delayed jobs, empty to skip them; start and end of the ready jobs; the state of ready jobs;
--       start of the members of `expiring`; the field in which claims of a kind differ; the numbers of buckets, tables
--       and kinds, with spaces between; the tables
--       of each kind of claim its shape; fields with values, each followed by its companion, constant and table, or by
--       '' without checksums; dropped fields; stamped fields with offsets; index entries, each as what follows and what
--       precedes it: an offset from now, 'id' or ''; companion and table of the field in which claims differ. The shape
--       has four bytes: the numbers of fields that are set, dropped and stamped, and of index entries
--       of each claim its kind, as one byte, and its request id; the value of the field in which claims differ; the
--       constant of its checksum, or ''
-- Returns the time; when the first delayed job is due, -1 if there is none or -2 if they were skipped; whether reading
-- stopped early; and of each claim 0 if it got no job, the error that prevented it, or its key, its new revision and
-- its fields before. If a delayed job is due, nothing is written.
--
-- Checksums cover the key of the record, and a sum in Lua takes 10 us. But the sum of the state before is stored, and the
-- sums of two texts under one key differ by a constant, if the first is moved on by the bytes that the second has more.
-- A table does that for one number of bytes: for each of the eight parts of four bits of a sum, its 16 results.

local call, sub, find, gsub, match, byte = redis.call, string.sub, string.find, string.gsub, string.match, string.byte
local bxor, band, rshift = bit.bxor, bit.band, bit.rshift
local META = '\0'
local DUE_FROM, DUE_TO, FROM, TO, STATE, EXPIRING = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local OWN = ARGV[7]
local BUCKETS, TABLES, KINDS = match(ARGV[8], '^(%d+) (%d+) (%d+)$')
BUCKETS, TABLES = tonumber(BUCKETS), tonumber(TABLES)
local CLAIMS = #KEYS - BUCKETS
-- Entries of expired records are skipped, up to this number.
local MOST_READ = 2 * CLAIMS + 64
local AT_ONCE = math.ceil(CLAIMS / BUCKETS)

local tables = {}
for index = 1, TABLES do tables[index] = { struct.unpack('<' .. string.rep('I4', 128), ARGV[8 + index]) } end

-- Returns when the first delayed job is due, or -1. A time that cannot be read is due.
local function firstDue()
  if DUE_FROM == '' then return -2 end
  local due = -1
  for bucket = 1, BUCKETS do
    local first = call('ZRANGEBYLEX', KEYS[bucket], '[' .. DUE_FROM, '(' .. DUE_TO, 'LIMIT', 0, 1)[1]
    local runAt = first and (tonumber(sub(first, #DUE_FROM + 1, find(first, '\0', 1, true) - 1)) or 0)
    if runAt and (due < 0 or runAt < due) then due = runAt end
  end
  return due
end

-- The next entry of each bucket that has one, in order.
local heads, isCut, taken = {}, false, 0

-- Moves to the next entry of a bucket. Returns false at the end.
local function advance(head)
  head.at = head.at + 1
  local member = head.members[head.at]
  if not member and head.isLast then return false end
  if not member then
    local from = head.member and '(' .. head.member or '[' .. FROM
    head.members, head.at = call('ZRANGEBYLEX', head.jobs, from, '(' .. TO, 'LIMIT', 0, AT_ONCE), 1
    head.isLast = #head.members < AT_ONCE
    member = head.members[1]
    if not member then return false end
  end
  head.member = member
  return true
end

-- Compares by the locale of the server, which may order jobs of the same priority and millisecond differently from the
-- engines that compare bytes.
local function insert(head)
  local low, high, member = 1, #heads, head.member
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if heads[middle].member < member then low = middle + 1 else high = middle - 1 end
  end
  table.insert(heads, low, head)
end

-- Removes and returns the first entry.
local function take()
  local head = not isCut and heads[1]
  if not head then return nil end
  taken = taken + 1
  isCut = taken > MOST_READ
  if isCut then return nil end
  local key = sub(head.member, find(head.member, '\0', 1, true) + 1)
  table.remove(heads, 1)
  if advance(head) then insert(head) end
  return head, key
end

-- Computes the other keys of a bucket when it is first needed: most claims take jobs of few buckets.
local function nameKeys(head)
  local tag, tenant = match(head.jobs, '^(.*}:)jobs:([^:]*)$')
  head.tag, head.records, head.names = tag, tag .. 'kv:' .. tenant .. ':', tag .. 'kv-names:' .. tenant
  head.remembered = tag .. 'job-places:' .. tenant
end

local function recordOf(head, key)
  if not head.records then nameKeys(head) end
  if find(key, '[%%:]') then key = gsub(gsub(key, '%%', '%%25'), ':', '%%3A') end
  return head.records .. gsub(key, '%.', ':')
end

local function inBase36(sum)
  local digits, at = { 48, 48, 48, 48, 48, 48, 48 }, 8
  repeat
    at = at - 1
    local digit = sum % 36
    digits[at] = digit < 10 and 48 + digit or 87 + digit
    sum = (sum - digit) / 36
  until sum == 0
  return string.char(unpack(digits, at))
end

-- Returns the sums of fields under the same key as the sum of the state.
local function sumsFrom(stored)
  local sum = tonumber(stored, 36)
  local a, b, c, d = band(sum, 15) + 1, band(rshift(sum, 4), 15) + 17, band(rshift(sum, 8), 15) + 33,
    band(rshift(sum, 12), 15) + 49
  local e, f, g, h = band(rshift(sum, 16), 15) + 65, band(rshift(sum, 20), 15) + 81, band(rshift(sum, 24), 15) + 97,
    rshift(sum, 28) + 113
  return function(constant, index)
    local t = tables[index]
    return inBase36(bxor(constant, t[a], t[b], t[c], t[d], t[e], t[f], t[g], t[h]) % 4294967296)
  end
end

local function fieldsOf(record)
  local flat, fields = call('HGETALL', record), {}
  for at = 1, #flat, 2 do fields[flat[at]] = flat[at + 1] end
  return flat, fields
end

local function writeFields(record, meta, sums, kind, own, constant)
  local written, count = { META, meta, OWN, own }, 4
  if sums then
    written[5], written[6], count = ARGV[kind.ends], sums(constant, tonumber(ARGV[kind.ends + 1])), 6
  end
  for at = kind.set, kind.dropped - 1, 5 do
    written[count + 1], written[count + 2] = ARGV[at], ARGV[at + 1]
    count = count + 2
    if sums then
      written[count + 1], written[count + 2] = ARGV[at + 2], sums(ARGV[at + 3], tonumber(ARGV[at + 4]))
      count = count + 2
    end
  end
  for at = kind.stamped, kind.places - 1, 2 do
    written[count + 1], written[count + 2] = ARGV[at], timeAfter(ARGV[at + 1])
    count = count + 2
  end
  call('HSET', record, unpack(written))
end

local function dropFields(record, fields, kind)
  local gone = {}
  for at = kind.dropped, kind.stamped - 1 do
    if fields[ARGV[at]] then gone[#gone + 1] = ARGV[at] end
  end
  if #gone > 0 then call('HDEL', record, unpack(gone)) end
end

local function index(head, key, kind, own)
  local entries = {}
  for at = kind.places, kind.ends - 1, 2 do
    local what, place = ARGV[at], ARGV[at + 1]
    if what == 'id' then
      place = place .. own
    elseif what ~= '' then
      place = place .. paddedTimeAfter(what)
    end
    entries[#entries + 1] = place
  end
  movePlaces(head.jobs, head.remembered, key, entries)
end

local function claim(unless, request, kind, own, constant)
  if call('EXISTS', unless) == 1 then return 0 end
  while true do
    local head, key = take()
    if not head then return 0 end
    local record = recordOf(head, key)
    local flat, fields = fieldsOf(record)
    if fields.state == STATE then
      local isSummed = TABLES > 0
      local expiresAt, requests = match(fields[META] or '', '^%d+:?(%d*)(.*)$')
      -- Damaged records, and those that were written before there were checksums, are found by a scan.
      isCut = not expiresAt or (isSummed and not match(fields['\0state'] or '', '^%w+$'))
      if isCut then return 0 end
      local revisions = revisionsOf(head.tag)
      local revision = revisions.last + 1
      local held, left = requestsAfter(requests, request)
      local sums = isSummed and sumsFrom(fields['\0state'])
      writeFields(record, string.format('%.0f', revision) .. held, sums, kind, own, constant)
      revisions.last = revision
      dropFields(record, fields, kind)
      if left ~= '' then keepRequests({ names = head.names, key = key }, left, clock()) end
      if expiresAt ~= '' then
        call('PERSIST', record)
        call('ZREM', head.tag .. 'expiring', EXPIRING .. key)
      end
      index(head, key, kind, own)
      return { key, revision, flat }
    end
  end
end

local due = firstDue()
if due >= 0 and due <= clock() then return { clock(), due, 0 } end
for bucket = 1, BUCKETS do
  local head = { jobs = KEYS[bucket], members = {}, at = 0 }
  if advance(head) then insert(head) end
end
local kinds, at = {}, 9 + TABLES
for number = 1, KINDS do
  local sets, droppeds, stampeds, places = byte(ARGV[at], 1, 4)
  local kind = { set = at + 1, dropped = at + 1 + 5 * sets }
  kind.stamped = kind.dropped + droppeds
  kind.places = kind.stamped + 2 * stampeds
  kind.ends = kind.places + 2 * places
  kinds[number], at = kind, kind.ends + 2
end
local replies = {}
for number = 1, CLAIMS do
  local kind = kinds[byte(ARGV[at], 1)]
  replies[number] = attempt(claim, KEYS[BUCKETS + number], sub(ARGV[at], 2), kind, ARGV[at + 1], ARGV[at + 2])
  at = at + 3
end
storeRevisions()
return { clock(), due, isCut and 1 or 0, unpack(replies) }
