-- Returns records that have expired and are still in the indexes.
--
-- KEYS  expiring
-- ARGV  how many at most

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
