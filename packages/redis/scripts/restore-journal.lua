-- Restores further entries of a journal, if the tombstone and the progress are the ones the writer knows. Otherwise does
-- nothing and returns 0. Entries are collected in a separate log. The last step makes it the journal's log and makes the
-- journal visible with its head, its lists and its feed entries. Its number of rewrites is then higher than the given
-- one and any it had before.
--
-- A journal that begins again is restored in a single step without a creation time: its head and its entries get the time
-- of the server. Returns that time and the number of rewrites.
--
-- KEYS  head, log, log of restored entries, feed, list, list of the tenant, names, journals of the tenant, tenants
-- ARGV  known tombstone or '', known number of entries, tombstone, '1' for the last step, head, its creation time or ''
--       (then the head is only its state), its last sequence, tenant, name, life, rewrites, text of the notice in the
--       feed or '', then sequence, time, key and body of each entry
-- Entries and their feed entries carry the new life of the journal: feed entries from before the removal have another.

local HEAD, GONE, RESTORED, REWRITES = '\0head', '\0tombstone', '\0restored', '\0rewrites'
local FED_AT_ONCE = 1000

local stored = redis.call('HMGET', KEYS[1], HEAD, GONE, RESTORED)
if stored[1] or (stored[2] or '') ~= ARGV[1] or (stored[3] or '0') ~= ARGV[2] then return 0 end

local now
if ARGV[6] == '' then
  local clock = redis.call('TIME')
  now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))
end

local tenant, name, life = ARGV[8], ARGV[9], ARGV[10]
redis.call('ZADD', KEYS[7], 0, name .. '\0' .. tenant)
redis.call('ZADD', KEYS[8], 0, name)
redis.call('ZADD', KEYS[9], 0, tenant)
local fields, restored = {}, ARGV[2]
for at = 13, #ARGV, 4 do
  restored = ARGV[at]
  local key, body = ARGV[at + 2], ARGV[at + 3]
  redis.call('XADD', KEYS[3], restored .. '-0', 'time', now or ARGV[at + 1], 'key', key, 'body', body, 'life', life)
  fields[#fields + 1], fields[#fields + 2] = key, restored
end
for from = 1, #fields, 2000 do
  redis.call('HSET', KEYS[1], unpack(fields, from, math.min(from + 1999, #fields)))
end
if ARGV[4] ~= '1' then
  redis.call('HSET', KEYS[1], GONE, ARGV[3], RESTORED, restored)
  return 1
end

redis.call('RENAME', KEYS[3], KEYS[2])
redis.call('HDEL', KEYS[1], GONE, RESTORED)
local rewrites = math.max(tonumber(redis.call('HGET', KEYS[1], REWRITES) or 0), tonumber(ARGV[11]))
local head = now and (ARGV[7] .. ' ' .. now .. ' ' .. now .. '\n' .. ARGV[5]) or ARGV[5]
redis.call('HSET', KEYS[1], HEAD, head, REWRITES, string.format('%.0f', rewrites + 1))
local last = tonumber(ARGV[7])
if ARGV[12] ~= '' then tellNotice(KEYS[4], tenant, name, ARGV[12]) end
for first = 1, last, FED_AT_ONCE do
  local events = string.format('%.0f %.0f', first, math.min(FED_AT_ONCE, last - first + 1))
  redis.call('XADD', KEYS[4], '*', 'run', tenant .. '\0' .. name, 'events', events, 'life', life)
end
local since = string.format('%016.0f', now or ARGV[6]) .. '\0'
redis.call('ZADD', KEYS[5], 0, since .. tenant .. '\0' .. name)
redis.call('ZADD', KEYS[6], 0, since .. name)
if now then return { tonumber(now), rewrites + 1 } end
return 1
