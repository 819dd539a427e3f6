-- Removes a journal with its tombstone and all its index entries. Returns how many entries it had.
--
-- KEYS  head, log, journals of the tenant, tenants; for runs also list, list of the tenant, names, log of restored
--       entries
-- ARGV  tenant, name

local head = redis.call('HGET', KEYS[1], '\0head')
local seq, createdAt = string.match(head or '', '^(%d+) (%d+) ')
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
if redis.call('ZCARD', KEYS[3]) == 0 then redis.call('ZREM', KEYS[4], ARGV[1]) end
if KEYS[8] then
  redis.call('UNLINK', KEYS[8])
  redis.call('ZREM', KEYS[7], ARGV[2] .. '\0' .. ARGV[1])
end
if KEYS[8] and createdAt then
  redis.call('ZREM', KEYS[5], string.format('%016.0f', createdAt) .. '\0' .. ARGV[1] .. '\0' .. ARGV[2])
  redis.call('ZREM', KEYS[6], string.format('%016.0f', createdAt) .. '\0' .. ARGV[2])
end
return tonumber(seq or 0)
