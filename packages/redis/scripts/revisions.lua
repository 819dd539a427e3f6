-- Revisions of records. Each bucket counts its changes. The steps of a script read and update a counter once.

local revisions = {}

local function revisionsOf(counter)
  local known = revisions[counter]
  if not known then
    known = { last = tonumber(redis.call('GET', counter) or 0), added = 0 }
    revisions[counter] = known
  end
  return known
end

-- Called after the first write of a step, because a server that is out of memory refuses that one.
local function useRevision(known, revision)
  known.last, known.added = revision, known.added + 1
end

-- Called at the end of a script.
local function storeRevisions()
  for counter, known in pairs(revisions) do
    if known.added > 0 then redis.call('INCRBY', counter, known.added) end
  end
end
