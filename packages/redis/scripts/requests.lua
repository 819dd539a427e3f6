-- Request ids that have left their record, or will leave it unnoticed when it expires. They are in a sorted set, named
-- `…kv-requests:acme` if the names of the records are in `…kv-names:acme`. Each member is a key and a request id, and its
-- score is the time at which it may be removed.

local REMEMBERED_REQUESTS, REQUEST_KEPT_MS, FORGET_AT_ONCE = 16, 300000, 32

-- Returns the request ids that a record holds after a request, and those that leave it. Each id follows a NUL.
local function requestsAfter(requests, request)
  if request == '' then return requests, '' end
  local after = requests .. '\0' .. request
  if requests == '' then return after, '' end
  local _, count = string.gsub(after, '%z', '')
  if count <= REMEMBERED_REQUESTS then return after, '' end
  local second = string.find(after, '\0', 2, true)
  return string.sub(after, second), string.sub(after, 1, second - 1)
end

local function requestsOf(names)
  return (string.gsub(names, '%-names:([^:]*)$', '-requests:%1'))
end

local function isKept(step)
  return redis.call('ZSCORE', requestsOf(step.names), step.key .. '\0' .. step.request) ~= false
end

-- Keeps ids, each after a NUL, for five minutes from now. Removes some expired ones.
local function keepRequests(step, ids, now)
  if ids == '' then return end
  local requests, forgetAt = requestsOf(step.names), now + REQUEST_KEPT_MS
  for id in string.gmatch(ids, '%z([^%z]+)') do
    redis.call('ZADD', requests, forgetAt, step.key .. '\0' .. id)
  end
  local old = redis.call('ZRANGEBYSCORE', requests, '-inf', string.format('%.0f', now), 'LIMIT', 0, FORGET_AT_ONCE)
  if #old > 0 then redis.call('ZREM', requests, unpack(old)) end
  redis.call('PEXPIREAT', requests, string.format('%.0f', forgetAt))
end
