-- Revisions of records. Each bucket counts its changes. The steps of a script read and update a counter once: each step
-- sets `last` after its first write, because a server that is out of memory refuses that one.

local revisions = {}

-- `tag` is the start of all keys of the bucket.
local function revisionsOf(tag)
  local known = revisions[tag]
  if not known then
    local last = tonumber(redis.call('GET', tag .. 'revision') or 0)
    if not last then error('ERR the counter of revisions is not a number', 0) end
    known = { last = last, stored = last }
    revisions[tag] = known
  end
  return known
end

-- Called at the end of a script.
local function storeRevisions()
  for tag, known in pairs(revisions) do
    if known.last > known.stored then redis.call('INCRBY', tag .. 'revision', known.last - known.stored) end
  end
end
