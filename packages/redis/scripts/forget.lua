-- Removes an expired record from the indexes. Keeps a record that has been written again; it is removed when it expires.
--
-- KEYS  record, names, expiring; for a job also jobs and remembered places
-- ARGV  key, member of `expiring`, job type or ''

local meta = redis.call('HGET', KEYS[1], '\0')
local expiresAt = meta and string.match(meta, '^%d+:(%d+)')
if expiresAt then
  redis.call('ZADD', KEYS[3], expiresAt, ARGV[2])
else
  redis.call('ZREM', KEYS[3], ARGV[2])
end
if meta then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
dropTenant(KEYS[2])
if KEYS[4] then place(KEYS[1], KEYS[4], KEYS[5], ARGV[1], ARGV[3]) end
return 1
