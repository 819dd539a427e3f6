-- Whether a record that cannot be found was lost: its name is in the index, and it has no end or one that is still to come.
--
-- KEYS  record, names, expiring
-- ARGV  key, member of `expiring`

if redis.call('EXISTS', KEYS[1]) == 1 or not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local expiresAt = redis.call('ZSCORE', KEYS[3], ARGV[2])
if not expiresAt then return 1 end
-- The key goes one millisecond before its record expires.
local time = redis.call('TIME')
return tonumber(expiresAt) - 1 > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
