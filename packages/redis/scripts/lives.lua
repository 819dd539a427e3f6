-- Answers the life of each entry asked for: '' for one that was never restored, nil for one that is gone.
--
-- KEYS  logs
-- ARGV  the number of a log among the keys and a sequence, for each entry

local lives = {}
for at = 1, #ARGV, 2 do
  local id = ARGV[at + 1] .. '-0'
  local entry = redis.call('XRANGE', KEYS[tonumber(ARGV[at])], id, id)[1]
  lives[#lives + 1] = entry and (entry[2][8] or '') or false
end
return lives
