-- One conditional step on a record: the rules of core/kv/conditions.ts.
--
-- A record is a hash of its fields. The field '\0' holds `revision` or `revision:expiresAt`, then the last request ids,
-- each after a NUL; `requests.lua` keeps those that leave it. The key itself expires one millisecond early, because
-- Redis shows a key up to and including its last millisecond.

local META = '\0'

-- Reads the arguments of a step from ARGV after `at`. Returns the step and the index of its last argument.
-- `shape` is `mode,ttl,exists,revision,flags,expected,absent,set,dropped,stamped`. The last five are the counts of the
-- arguments that follow: expected fields with values, fields that must be absent, set with values, dropped, stamped
-- with offsets. `flags` is 1 if no fields need to be returned, plus 2 if the request id is new, plus 4 if the step stores
-- the result of its batch.
local function stepAt(at)
  local step = { key = ARGV[at + 1], request = ARGV[at + 3], jobType = ARGV[at + 4] }
  local counts = {}
  local flags
  step.mode, step.ttl, step.exists, step.revision, flags, counts[1], counts[2], counts[3], counts[4], counts[5] =
    string.match(ARGV[at + 2], '^(%l+),(%-?%d*),(%d?),(%d*),(%d),(%d+),(%d+),(%d+),(%d+),(%d+)$')
  step.brief, step.requestIsNew, step.answersBatch = flags % 2 == 1, flags % 4 >= 2, flags % 8 >= 4
  step.expected = at + 5
  step.absent = step.expected + 2 * counts[1]
  step.set = step.absent + counts[2]
  step.dropped = step.set + 2 * counts[3]
  step.stamped = step.dropped + counts[4]
  step.ends = step.stamped + 2 * counts[5]
  return step, step.ends - 1
end

local function look(step)
  local meta = redis.call('HGET', step.record, META)
  step.existed = meta and true or false
  step.before, step.expiresAt, step.requests = 0, nil, ''
  if not meta then return end
  local revision, expiresAt, requests = string.match(meta, '^(%d+):?(%d*)(.*)$')
  step.before, step.expiresAt, step.requests = tonumber(revision), tonumber(expiresAt), requests
end

local function isAnswered(step)
  if step.request == '' or step.requestIsNew then return false end
  return string.find(step.requests .. '\0', '\0' .. step.request .. '\0', 1, true) ~= nil or isKept(step)
end

local function meets(step)
  if step.exists ~= '' and (step.exists == '1') ~= step.existed then return false end
  if step.revision ~= '' and tonumber(step.revision) ~= step.before then return false end
  for at = step.expected, step.absent - 1, 2 do
    if redis.call('HGET', step.record, ARGV[at]) ~= ARGV[at + 1] then return false end
  end
  for at = step.absent, step.set - 1 do
    if redis.call('HEXISTS', step.record, ARGV[at]) == 1 then return false end
  end
  return true
end

-- `requests` are the ids that leave with the record.
local function drop(step, requests)
  if requests ~= '' then keepRequests(step, requests, clock()) end
  redis.call('DEL', step.record)
  redis.call('ZREM', step.names, step.key)
  dropTenant(step.names)
  if step.expiresAt then redis.call('ZREM', step.expiring, step.expiryMember) end
  step.after, step.expiresAt = nil, nil
end

local function writeFields(step, meta)
  if step.mode == 'merge' then
    for from = step.dropped, step.stamped - 1, 2000 do
      redis.call('HDEL', step.record, unpack(ARGV, from, math.min(from + 1999, step.stamped - 1)))
    end
  end
  local fields = { META, meta }
  for at = step.set, step.dropped - 1 do fields[#fields + 1] = ARGV[at] end
  if step.answer then
    fields[#fields + 1] = 'answer'
    fields[#fields + 1] = step.answer
  end
  for at = step.stamped, step.ends - 1, 2 do
    fields[#fields + 1] = ARGV[at]
    fields[#fields + 1] = timeAfter(ARGV[at + 1])
  end
  for from = 1, #fields, 2000 do
    redis.call('HSET', step.record, unpack(fields, from, math.min(from + 1999, #fields)))
  end
end

local function expire(step, expiresAt)
  if expiresAt then
    redis.call('PEXPIREAT', step.record, string.format('%.0f', expiresAt - 1))
    redis.call('ZADD', step.expiring, expiresAt, step.expiryMember)
  elseif step.expiresAt then
    redis.call('PERSIST', step.record)
    redis.call('ZREM', step.expiring, step.expiryMember)
  end
  step.expiresAt = expiresAt
end

local function change(step)
  local setsNothing = step.set == step.dropped and step.stamped == step.ends and not step.answer
  local keepsNothing = step.mode == 'delete' or setsNothing
  if keepsNothing and (step.mode ~= 'merge' or not step.existed) then
    if not step.existed then return end
    step.revisionNow = redis.call('INCR', step.counter)
    drop(step, step.request == '' and step.requests or step.requests .. '\0' .. step.request)
    return
  end
  step.revisionNow = redis.call('INCR', step.counter)
  local expiresAt = step.expiresAt
  if step.ttl == '-' or (step.ttl == '' and step.mode == 'replace') then
    expiresAt = nil
  elseif step.ttl ~= '' then
    expiresAt = clock() + step.ttl
  end
  if step.mode == 'replace' and step.existed then redis.call('DEL', step.record) end
  local meta = string.format('%.0f', step.revisionNow)
  if expiresAt then meta = meta .. string.format(':%.0f', expiresAt) end
  local held, left = requestsAfter(step.requests, step.request)
  writeFields(step, meta .. held)
  step.after = step.revisionNow
  if left ~= '' then keepRequests(step, left, clock()) end
  if step.mode == 'merge' and setsNothing and step.dropped < step.stamped and redis.call('HLEN', step.record) == 1 then
    drop(step, held)
    return
  end
  -- The server expires the key silently. Request ids in it that may still be retried by then are kept from now on.
  local changes = step.request ~= '' or expiresAt ~= step.expiresAt
  if expiresAt and held ~= '' and changes and expiresAt < clock() + REQUEST_KEPT_MS then
    keepRequests(step, held, clock())
  end
  if not step.existed then
    redis.call('ZADD', step.names, '0', step.key)
    noteTenant(step.names)
  end
  if expiresAt ~= step.expiresAt or (expiresAt and step.mode == 'replace') then expire(step, expiresAt) end
end

-- Returns `{ applied, existed, revision of the change or 0, revision or 0, ttl or -1, fields }`, the fields only if
-- requested.
local function outcomeOf(step, applied)
  local ttl = step.expiresAt and step.after and math.max(step.expiresAt - clock(), 1) or -1
  local existed = step.existed or (step.answered and step.mode == 'delete')
  local outcome = { applied and 1 or 0, existed and 1 or 0, step.revisionNow or 0, step.after or 0, ttl }
  if not step.brief and step.after then outcome[6] = redis.call('HGETALL', step.record) end
  return outcome
end
