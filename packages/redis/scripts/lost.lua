-- Whether a record that cannot be found was lost: its name is in the index, and nothing says that it has expired.
--
-- KEYS  record, names, expiring
-- ARGV  key, member of `expiring`

if redis.call('EXISTS', KEYS[1]) == 1 or not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
return redis.call('ZSCORE', KEYS[3], ARGV[2]) and 0 or 1
