-- Replaces the index entries of a job. `jobs` is the index, `remembered` a hash of the entries that are in it.
-- Scores are text in all scripts: the server formats a number, which takes half as long as the command.

local function movePlaces(jobs, remembered, key, places)
  local before = redis.call('HGET', remembered, key) or ''
  local after = table.concat(places, '\n')
  if before == after then return end
  local suffix, gone, added = '\0' .. key, {}, {}
  for old in string.gmatch(before, '[^\n]+') do gone[#gone + 1] = old .. suffix end
  for at = 1, #places do added[2 * at - 1], added[2 * at] = '0', places[at] .. suffix end
  if #gone > 0 then redis.call('ZREM', jobs, unpack(gone)) end
  if #added > 0 then redis.call('ZADD', jobs, unpack(added)) end
  if after == '' then redis.call('HDEL', remembered, key) else redis.call('HSET', remembered, key, after) end
end
