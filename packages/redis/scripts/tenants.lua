-- The tenants that have records of a kind in this bucket: a sorted set, named `…kv-tenants` if the
-- names are in `…kv-names:acme`.

local function tenantOf(names)
  local kind, tenant = string.match(names, '^(.*)%-names:([^:]*)$')
  tenant = string.gsub(string.gsub(tenant, '%%3A', ':'), '%%25', '%%')
  return kind .. '-tenants', tenant
end

-- Called after a name was added.
local function noteTenant(names)
  if redis.call('ZCARD', names) ~= 1 then return end
  local tenants, tenant = tenantOf(names)
  redis.call('ZADD', tenants, '0', tenant)
end

-- Called after a name was removed.
local function dropTenant(names)
  if redis.call('ZCARD', names) ~= 0 then return end
  local tenants, tenant = tenantOf(names)
  redis.call('ZREM', tenants, tenant)
end
