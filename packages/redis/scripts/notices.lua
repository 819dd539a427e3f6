-- Adds a notice to the feed of a bucket. Versions without notices take it for a commit whose entry no longer exists: no
-- entry has its life.

local function tellNotice(feed, tenant, name, text)
  redis.call('XADD', feed, '*', 'run', tenant .. '\0' .. name, 'events', '1 1', 'life', 'notice', 'notice', text)
end
