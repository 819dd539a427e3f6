-- Returns one field of each of several records, with its checksum.
--
-- KEYS  records
-- ARGV  the field of each

local values = {}
for at, record in ipairs(KEYS) do values[at] = redis.call('HMGET', record, ARGV[at], '\0' .. ARGV[at]) end
return values
