-- Removes a blob that was last stored before a time; answers whether it did.
--
-- KEYS  info, bytes, blobs
-- ARGV  member of `blobs`, time

local renewedAt = redis.call('HGET', KEYS[1], 'renewedAt')
if not renewedAt or tonumber(renewedAt) >= tonumber(ARGV[2]) then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
