-- Claims jobs: finds the first ready ones in the indexes of all buckets and writes one for each claim. Only for a single
-- server. The keys of a record are computed from those of the index of its bucket.
--
-- KEYS  the index of jobs of each bucket; the counter of revisions of each bucket; of each claim, a record that prevents
--       it if it exists
-- ARGV  start and end of the delayed jobs, empty to skip them; start and end of the ready jobs; the state of ready jobs;
--       start of the members of `expiring`; the field in which claims of a kind differ; the numbers of buckets, of
--       known fronts and of kinds, and 1 if new fronts are wanted, with spaces between; when the first delayed job of
--       the known fronts is due, or -1
--       of each known front, its revision and its first ready entry or ''
--       of each kind of claim its shape; tables; fields with values, each followed by its companion, constant and table,
--       or by '' without checksums; dropped fields; stamped fields with offsets; index entries, each as what follows
--       and what precedes it: an offset from now, 'id' or ''; companion and table of the field in which claims differ.
--       The shape has five bytes: the numbers of tables, of fields that are set, dropped and stamped, and of entries
--       of each claim its kind, as one byte, and its request id; the value of the field in which claims differ; the
--       constant of its checksum, or ''
-- Returns the time; when the first delayed job is due, -1 if there is none, or -2 if they were skipped; whether reading
-- stopped early; the new fronts; and of each claim 0 if it got no job, the error that prevented it, or its key, its new
-- revision and its fields before. If a delayed job is due, nothing is written.
--
-- The front of a bucket is its first ready entry and its first delayed one. It changes only with the revision of the
-- bucket, so a caller that knows it spares the script two reads. New fronts are lists of bucket, revision, first ready
-- entry or '', and when the first delayed job is due: -1 if there is none, or -2 if that is as before.
-- Checksums cover the key of the record, and a sum in Lua takes 10 us. But the sum of the previous state is stored, and
-- the sums of two texts under one key differ by a constant once the first is shifted by the difference of their
-- lengths. A table does that for one number of bytes: for each of the eight parts of four bits of a sum, its 16
-- results.

local call, sub, find, gsub, match, byte = redis.call, string.sub, string.find, string.gsub, string.match, string.byte
local bxor, band, rshift = bit.bxor, bit.band, bit.rshift
local unpackOne = struct.unpack
local META = '\0'
local DUE_FROM, DUE_TO, FROM, TO, STATE, EXPIRING = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local OWN = ARGV[7]
local BUCKETS, FRONTS, KINDS, WANTED = match(ARGV[8], '^(%d+) (%d+) (%d+) (%d)$')
BUCKETS, FRONTS, WANTED = tonumber(BUCKETS), tonumber(FRONTS), WANTED == '1'
local CLAIMS = #KEYS - 2 * BUCKETS
-- Entries of expired records are skipped, up to this number.
local MAX_READ = 2 * CLAIMS + 64
local AT_ONCE = math.ceil(CLAIMS / BUCKETS)
local AT_ONCE_TEXT = tostring(AT_ONCE)
-- Up to this number of claims, it costs less to look up results of tables than to unpack all of them.
local FEW = 4

-- Returns when the first delayed job of a bucket is due, or -1. A time that cannot be read is due.
local function firstDue(jobs)
  if DUE_FROM == '' then return -2 end
  local first = call('ZRANGEBYLEX', jobs, '[' .. DUE_FROM, '(' .. DUE_TO, 'LIMIT', '0', '1')[1]
  return first and (tonumber(sub(first, #DUE_FROM + 1, find(first, '\0', 1, true) - 1)) or 0) or -1
end

local function earlier(a, b)
  return b < 0 and a or a < 0 and b or math.min(a, b)
end

-- The next entry of each bucket, or false. Only buckets that are read or taken from have a head: a table for each of
-- them took longer than the comparison of their entries.
local nexts, heads, isCut, taken = {}, {}, false, 0

local function newHead(bucket)
  local head = { bucket = bucket, jobs = KEYS[bucket], members = {}, at = 0, due = -2 }
  heads[bucket] = head
  return head
end

-- Moves to the next entry of a bucket.
local function advance(head)
  head.at = head.at + 1
  local member = head.members[head.at]
  if not member and not head.isLast then
    local from = head.member and '(' .. head.member or '[' .. FROM
    head.members, head.at = call('ZRANGEBYLEX', head.jobs, from, '(' .. TO, 'LIMIT', '0', AT_ONCE_TEXT), 1
    head.isLast = #head.members < AT_ONCE
    member = head.members[1]
  end
  head.member, nexts[head.bucket] = member, member or false
end

-- The revision of each bucket before the script.
local revisionsBefore = WANTED and call('MGET', unpack(KEYS, BUCKETS + 1, 2 * BUCKETS))

-- Finds the fronts of the buckets. Returns when the first delayed job is due.
local function readFronts()
  local due = DUE_FROM == '' and -2 or FRONTS > 0 and tonumber(ARGV[9]) or -1
  -- Such a front may be old.
  local readsAll = FRONTS == 0 or (due >= 0 and due <= clock())
  if readsAll and due >= 0 then due = -1 end
  for bucket = 1, BUCKETS do
    if not readsAll and (revisionsBefore[bucket] or '0') == ARGV[8 + 2 * bucket] then
      local member = ARGV[9 + 2 * bucket]
      nexts[bucket] = member ~= '' and member
    else
      local head = newHead(bucket)
      head.due = firstDue(head.jobs)
      due = earlier(due, head.due)
      advance(head)
    end
  end
  return due
end

local function newFronts()
  local fronts = {}
  for bucket = 1, WANTED and BUCKETS or 0 do
    local head = heads[bucket]
    if head then
      local revision = head.revisions and head.revisions.last or tonumber(revisionsBefore[bucket] or '0')
      fronts[#fronts + 1] = { bucket, revision, head.member or '', head.due }
    end
  end
  return fronts
end

-- Removes and returns the first entry. Compares by the locale of the server, which may order jobs of the same priority
-- and millisecond differently from the engines that compare bytes.
local function take()
  if isCut then return nil end
  local first, member
  for bucket = 1, BUCKETS do
    local entry = nexts[bucket]
    if entry and (not member or entry < member) then first, member = bucket, entry end
  end
  if not first then return nil end
  taken = taken + 1
  isCut = taken > MAX_READ
  if isCut then return nil end
  local head = heads[first] or newHead(first)
  head.member = member
  advance(head)
  return head, sub(member, find(member, '\0', 1, true) + 1)
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

-- Returns a function for the sums of fields under the same key as the sum of the state.
local function sumsFrom(stored, kind)
  local sum, unpacked = tonumber(stored, 36), kind.unpacked
  local a, b, c, d = band(sum, 15) + 1, band(rshift(sum, 4), 15) + 17, band(rshift(sum, 8), 15) + 33,
    band(rshift(sum, 12), 15) + 49
  local e, f, g, h = band(rshift(sum, 16), 15) + 65, band(rshift(sum, 20), 15) + 81, band(rshift(sum, 24), 15) + 97,
    rshift(sum, 28) + 113
  return function(constant, index)
    local t = unpacked and unpacked[index]
    if t then
      return inBase36(bxor(constant, t[a], t[b], t[c], t[d], t[e], t[f], t[g], t[h]) % 4294967296)
    end
    local results = ARGV[kind.tables + index - 1]
    local function at(entry) return (unpackOne('<I4', results, 4 * entry - 3)) end
    return inBase36(bxor(constant, at(a), at(b), at(c), at(d), at(e), at(f), at(g), at(h)) % 4294967296)
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

-- Most claims have no record that prevents them, and one command tells so for all.
local isAnyPrevented = call('EXISTS', unpack(KEYS, 2 * BUCKETS + 1)) > 0

local function claim(unless, request, kind, own, constant)
  if isAnyPrevented and call('EXISTS', unless) == 1 then return 0 end
  while true do
    local head, key = take()
    if not head then return 0 end
    local record = recordOf(head, key)
    local flat, fields = fieldsOf(record)
    if fields.state == STATE then
      local isSummed = kind.set > kind.tables
      local expiresAt, requests = match(fields[META] or '', '^%d+:?(%d*)(.*)$')
      -- Damaged records, and those that were written before there were checksums, are found by a scan.
      isCut = not expiresAt or (isSummed and not match(fields['\0state'] or '', '^%w+$'))
      if isCut then return 0 end
      local revisions = revisionsOf(head.tag)
      local revision = revisions.last + 1
      local held, left = requestsAfter(requests, request)
      local sums = isSummed and sumsFrom(fields['\0state'], kind)
      writeFields(record, string.format('%.0f', revision) .. held, sums, kind, own, constant)
      revisions.last, head.revisions = revision, revisions
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

local due = readFronts()
if due >= 0 and due <= clock() then return { clock(), due, 0, newFronts() } end
local kinds, at = {}, 10 + 2 * FRONTS
for number = 1, KINDS do
  local tables, sets, droppeds, stampeds, places = byte(ARGV[at], 1, 5)
  local kind = { tables = at + 1, set = at + 1 + tables }
  kind.dropped = kind.set + 5 * sets
  kind.stamped = kind.dropped + droppeds
  kind.places = kind.stamped + 2 * stampeds
  kind.ends = kind.places + 2 * places
  if CLAIMS > FEW then
    kind.unpacked = {}
    for index = 1, tables do
      kind.unpacked[index] = { struct.unpack('<' .. string.rep('I4', 128), ARGV[at + index]) }
    end
  end
  kinds[number], at = kind, kind.ends + 2
end
local replies = {}
for number = 1, CLAIMS do
  local kind = kinds[byte(ARGV[at], 1)]
  replies[number] = attempt(claim, KEYS[2 * BUCKETS + number], sub(ARGV[at], 2), kind, ARGV[at + 1], ARGV[at + 2])
  at = at + 3
end
storeRevisions()
return { clock(), due, isCut and 1 or 0, newFronts(), unpack(replies) }
