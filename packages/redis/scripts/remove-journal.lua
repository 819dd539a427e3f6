-- Removes a journal and answers how many entries it had. A tombstone, if one is given, stays behind in its head.
--
-- KEYS  head, log; for runs also list, list of the tenant, names
-- ARGV  tombstone or '', tenant, name

local head = redis.call('HGET', KEYS[1], '\0head')
if not head then return 0 end
local seq, createdAt = string.match(head, '^(%d+) (%d+) ')
redis.call('UNLINK', KEYS[1], KEYS[2])
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], '\0tombstone', ARGV[1]) end
if KEYS[3] then
  redis.call('ZREM', KEYS[3], string.format('%016.0f', createdAt) .. '\0' .. ARGV[2] .. '\0' .. ARGV[3])
  redis.call('ZREM', KEYS[4], string.format('%016.0f', createdAt) .. '\0' .. ARGV[3])
  redis.call('ZREM', KEYS[5], ARGV[3] .. '\0' .. ARGV[2])
end
return tonumber(seq)
