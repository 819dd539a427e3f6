-- Claims jobs: finds the first ready ones in the indexes of all buckets and writes one for each claim. Only for a single
-- server. The keys of a record are computed from those of the index of its bucket.
--
-- KEYS  the index of jobs of each bucket; of each claim, a record that prevents it if it exists
-- ARGV  start and end of the delayed jobs, empty to skip them; start and end of the ready jobs; how many buckets; the
--       inverted checksum up to the part of the keys in which they differ, or '' without checksums; where that part
--       begins; start of the members of `expiring`;
--       of each claim its step, with any key and checksums, which are replaced, and one unused argument
-- Returns whether a delayed job is due, whether reading stopped early, and of each claim 0 if it got no job, the error
-- that prevented it, or its key and fields.

local call, sub, find = redis.call, string.sub, string.find
local DUE_FROM, DUE_TO, FROM, TO, SUM, EXPIRING = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6], ARGV[8]
local BUCKETS, PREFIX, ARGUMENTS = tonumber(ARGV[5]), tonumber(ARGV[7]), 8
local CLAIMS = #KEYS - BUCKETS
-- Entries of expired records are skipped, up to this number.
local MOST_READ = 2 * CLAIMS + 64
local AT_ONCE = math.ceil(CLAIMS / BUCKETS)

local function isDue()
  if DUE_FROM == '' then return false end
  for bucket = 1, BUCKETS do
    local first = call('ZRANGEBYLEX', KEYS[bucket], '[' .. DUE_FROM, '(' .. DUE_TO, 'LIMIT', 0, 1)[1]
    if first then
      local runAt = tonumber(sub(first, #DUE_FROM + 1, find(first, '\0', 1, true) - 1))
      if not runAt or runAt <= clock() then return true end
    end
  end
  return false
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
  local key = sub(head.member, find(head.member, '\0', 1, true) + 1)
  -- A checksum needs the key as UTF-16, which is too much work here.
  isCut = taken > MOST_READ or (SUM ~= '' and find(key, '[\128-\255]') ~= nil)
  if isCut then return nil end
  table.remove(heads, 1)
  if advance(head) then insert(head) end
  return head, key
end

-- Computes the other keys of a bucket when it is first needed: most claims take jobs of few buckets.
local function nameKeys(head)
  local tag, tenant = string.match(head.jobs, '^(.*}:)jobs:([^:]*)$')
  head.records, head.names = tag .. 'kv:' .. tenant .. ':', tag .. 'kv-names:' .. tenant
  head.remembered, head.counter, head.expiring = tag .. 'job-places:' .. tenant, tag .. 'revision', tag .. 'expiring'
end

local function addressOf(step, head, key)
  if not head.records then nameKeys(head) end
  local name = string.gsub(string.gsub(string.gsub(key, '%%', '%%25'), ':', '%%3A'), '%.', ':')
  step.key, step.record, step.expiryMember = key, head.records .. name, EXPIRING .. key
  step.jobs, step.remembered, step.names = head.jobs, head.remembered, head.names
  step.counter, step.expiring = head.counter, head.expiring
end

local function fillSums(step)
  if SUM == '' then return end
  local start = feed(tonumber(SUM), sub(step.key, PREFIX) .. '\0')
  for at = step.set, step.dropped - 1, 4 do ARGV[at + 3] = sumOfField(start, ARGV[at], ARGV[at + 1]) end
end

local function claim(step, unless)
  if call('EXISTS', unless) == 1 then return 0 end
  while true do
    local head, key = take()
    if not head then return 0 end
    addressOf(step, head, key)
    look(step)
    if step.existed and meets(step) then
      fillSums(step)
      change(step)
      place(step.record, step.jobs, step.remembered, step.key, step.jobType)
      return { step.key, call('HGETALL', step.record) }
    end
  end
end

if isDue() then return { 1, 0 } end
for bucket = 1, BUCKETS do
  local head = { jobs = KEYS[bucket], members = {}, at = 0 }
  if advance(head) then insert(head) end
end
local replies, at = {}, ARGUMENTS
for number = 1, CLAIMS do
  local step
  step, at = stepAt(at)
  at = at + 1
  replies[number] = attempt(claim, step, KEYS[BUCKETS + number])
end
return { 0, isCut and 1 or 0, unpack(replies) }
