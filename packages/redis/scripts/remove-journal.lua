-- Removes a journal, or the restored part of one, and returns how many entries there were. A given tombstone stays in
-- its head, with the number of rewrites. If a sequence is given, removes only while it is the last one, else returns
-- minus the last one. If a number of rewrites is given, removes only while it is the journal's, else returns the
-- journal's as text.
--
-- KEYS  head, log; for runs also list, list of the tenant, names, log of restored entries, number of removed events,
--       feed; for others journals, tenants
-- ARGV  tombstone or '', tenant, name, last sequence or '', '1' for a run that stays among the names, rewrites or '',
--       text of the notice in the feed or ''

local REWRITES = '\0rewrites'
local stored = redis.call('HMGET', KEYS[1], '\0head', '\0restored', REWRITES)
local head, restored, rewrites = stored[1], stored[2], stored[3] or '0'
local expectedSeq, keepsName, expectedRewrites = ARGV[4] or '', ARGV[5] == '1', ARGV[6] or ''

local function leaveTombstone()
  if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], '\0tombstone', ARGV[1], REWRITES, rewrites) end
end

local function tell()
  if KEYS[8] and (ARGV[7] or '') ~= '' then tellNotice(KEYS[8], ARGV[2], ARGV[3], ARGV[7]) end
end

if not head then
  if not restored or expectedSeq ~= '' then return 0 end
  redis.call('UNLINK', KEYS[1], KEYS[6])
  if not keepsName then redis.call('ZREM', KEYS[5], ARGV[3] .. '\0' .. ARGV[2]) end
  leaveTombstone()
  tell()
  return tonumber(restored)
end
local seq, createdAt = string.match(head, '^(%d+) (%d+) ')
if expectedSeq ~= '' and expectedSeq ~= seq then return -tonumber(seq) end
if expectedRewrites ~= '' and expectedRewrites ~= rewrites then return rewrites end
redis.call('UNLINK', KEYS[1], KEYS[2])
leaveTombstone()
tell()
if KEYS[6] then
  redis.call('ZREM', KEYS[3], string.format('%016.0f', createdAt) .. '\0' .. ARGV[2] .. '\0' .. ARGV[3])
  redis.call('ZREM', KEYS[4], string.format('%016.0f', createdAt) .. '\0' .. ARGV[3])
  if not keepsName then redis.call('ZREM', KEYS[5], ARGV[3] .. '\0' .. ARGV[2]) end
  redis.call('INCRBY', KEYS[7], seq)
else
  redis.call('ZREM', KEYS[3], ARGV[3])
  if redis.call('ZCARD', KEYS[3]) == 0 then redis.call('ZREM', KEYS[4], ARGV[2]) end
end
return tonumber(seq)
