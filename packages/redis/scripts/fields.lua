-- One field of each of several records.
--
-- KEYS  records
-- ARGV  the field of each

local values = {}
for at, record in ipairs(KEYS) do values[at] = redis.call('HGET', record, ARGV[at]) end
return values
