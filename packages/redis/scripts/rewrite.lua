-- Copies a journal page by page with a new body in one entry, and replaces the journal with the copy after the last
-- page. Streams cannot be changed in place. Writers do not wait, and their commits are copied too. Returns the last
-- sequence copied, or 'done', 'gone' if the entry is missing or differs, 'again' if another copy has since
-- replaced the journal.
--
-- KEYS  head, log, copy; for a notice also feed
-- ARGV  rewrites known, after which sequence, how many, sequence of the entry, its body, its new body, life of the copy;
--       for a notice also tenant, name, text

local HEAD, GONE, REWRITES = '\0head', '\0tombstone', '\0rewrites'

local function giveUp(why)
  redis.call('UNLINK', KEYS[3])
  return why
end

local stored = redis.call('HMGET', KEYS[1], HEAD, GONE, REWRITES)
if not stored[1] or stored[2] then return giveUp('gone') end
if (stored[3] or '0') ~= ARGV[1] then return giveUp('again') end
local place = ARGV[4] .. '-0'
local entries = redis.call('XRANGE', KEYS[2], '(' .. ARGV[2] .. '-0', '+', 'COUNT', ARGV[3])
for _, entry in ipairs(entries) do
  local id, fields = entry[1], entry[2]
  if id == place then
    if fields[6] ~= ARGV[5] then return giveUp('gone') end
    fields[6] = ARGV[6]
  end
  redis.call('XADD', KEYS[3], id, unpack(fields))
end
if ARGV[2] == '0' then redis.call('PEXPIRE', KEYS[3], ARGV[7]) end
if #entries == tonumber(ARGV[3]) then return string.match(entries[#entries][1], '^%d+') end
redis.call('RENAME', KEYS[3], KEYS[2])
redis.call('PERSIST', KEYS[2])
redis.call('HINCRBY', KEYS[1], REWRITES, 1)
if KEYS[4] then tellNotice(KEYS[4], ARGV[8], ARGV[9], ARGV[10]) end
return 'done'
