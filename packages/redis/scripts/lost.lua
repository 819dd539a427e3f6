-- Returns whether a missing record was lost: its name is in the index, and it has no expiry or a future one.
--
-- KEYS  record, names, expiring
-- ARGV  key, member of `expiring`

if redis.call('EXISTS', KEYS[1]) == 1 or not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local expiresAt = redis.call('ZSCORE', KEYS[3], ARGV[2])
if not expiresAt then return 1 end
-- The key expires one millisecond before its record.
local time = redis.call('TIME')
return tonumber(expiresAt) - 1 > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
