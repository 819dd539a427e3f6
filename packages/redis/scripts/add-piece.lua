-- Adds a piece to an upload, which expires as a whole. Returns 0 when it has expired and its earlier pieces are lost.
--
-- KEYS  upload
-- ARGV  index of the piece, its bytes, milliseconds an upload lives

local length = redis.call('LLEN', KEYS[1])
if length ~= tonumber(ARGV[1]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
if length == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1
