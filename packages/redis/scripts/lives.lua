-- Returns the life of each requested entry: '' if it was never restored, nil if it does not exist.
--
-- KEYS  logs
-- ARGV  for each entry: the index of its log in KEYS, and its sequence

local lives = {}
for at = 1, #ARGV, 2 do
  local id = ARGV[at + 1] .. '-0'
  local entry = redis.call('XRANGE', KEYS[tonumber(ARGV[at])], id, id)[1]
  lives[#lives + 1] = entry and (entry[2][8] or '') or false
end
return lives
