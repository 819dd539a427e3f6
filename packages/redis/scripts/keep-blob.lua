-- Turns uploaded pieces into a blob, or renews the time and version of the blob that is already stored.
--
-- KEYS  info, bytes, upload, blobs
-- ARGV  member of `blobs`, size, version, checksums of the pieces

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[3])
elseif ARGV[2] ~= '0' then
  if redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
  redis.call('RENAME', KEYS[3], KEYS[2])
  redis.call('PERSIST', KEYS[2])
  redis.call('HSET', KEYS[1], 'sums', ARGV[4])
end
redis.call('HSET', KEYS[1], 'size', ARGV[2], 'renewedAt', now, 'version', ARGV[3])
redis.call('ZADD', KEYS[4], 0, ARGV[1])
return 1
