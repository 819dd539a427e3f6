-- Removes a blob unless it has been stored again since it was read. Returns whether it was removed. The time is compared too,
-- because writers of an older release renew only the time.
--
-- KEYS  info, bytes, blobs
-- ARGV  member of `blobs`, time and version as they were read

local found = redis.call('HMGET', KEYS[1], 'renewedAt', 'version')
if not found[1] or found[1] .. ' ' .. (found[2] or '') ~= ARGV[2] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
