-- Computes the index entries of a job by the rule of core/jobs/index-keys.ts, in the same step as the record. `STATES` and
-- `HELD` come from core's table of states (scripts.ts).

local DIGITS = 15

local function whole(text)
  if not text or #text > DIGITS or not string.find(text, '^%d+$') then return nil end
  if #text > 1 and string.sub(text, 1, 1) == '0' then return nil end
  return string.rep('0', DIGITS - #text) .. text
end

local function rank(text)
  local digits = text and string.match(text, '^%-?(%d+)$')
  if not digits or #digits > 4 or (#digits > 1 and string.sub(digits, 1, 1) == '0') then return '5000' end
  return string.format('%d', 5000 - math.max(-1000, math.min(1000, tonumber(text))))
end

local FIELDS = {
  'state', 'created_at', 'run_at', 'timeout_at', 'updated_at', 'priority', 'claim_id', 'unannounced',
}

local function indexKeysOf(record, jobType)
  local of = redis.call('HMGET', record, unpack(FIELDS))
  local state, createdAt, runAt, timeoutAt, claimId = of[1], whole(of[2]), whole(of[3]), whole(of[4]), of[7]
  if not state or not STATES[state] then return {} end
  if state == 'pending' and runAt then return { 'delayed/' .. jobType .. '/' .. runAt } end
  local never = string.rep('0', DIGITS)
  local updatedAt = whole(of[5]) or createdAt or never
  local places = { state .. '/' .. jobType .. '/' .. updatedAt }
  local function add(kind, at) places[#places + 1] = kind .. '/' .. jobType .. '/' .. at end
  if state == 'pending' then add('ready', rank(of[6]) .. (createdAt or never)) end
  if state == 'failed' and of[8] then add('unannounced', updatedAt) end
  if not HELD[state] then return places end
  if timeoutAt then add('lease', timeoutAt) end
  if claimId and #claimId <= 100 and string.find(claimId, '^[%w_-]+$') then add('claim', claimId) end
  return places
end

-- Updates the index entries of a record.
local function place(record, jobs, remembered, key, jobType)
  movePlaces(jobs, remembered, key, indexKeysOf(record, jobType))
end
