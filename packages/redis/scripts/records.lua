-- Returns all fields of several records, as HGETALL does, or the error that prevented it. After 256 KiB the remaining
-- records are not read and returned as nil: one reply of many large records would delay every other caller.
--
-- KEYS  records

local MOST_BYTES = 262144
local found, bytes = {}, 0
for at, record in ipairs(KEYS) do
  found[at] = bytes <= MOST_BYTES and redis.pcall('HGETALL', record)
  for _, part in ipairs(found[at] or {}) do bytes = bytes + #part end
end
return found
