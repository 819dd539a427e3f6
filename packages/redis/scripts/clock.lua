-- The server's clock, read once per script, and times as text.

local now
local function clock()
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
end

-- Formatting a number costs as much as a short command, and most times in a script are the same.
local timeTexts, paddedTexts = {}, {}

-- Returns the time some milliseconds from now.
local function timeAfter(offset)
  local text = timeTexts[offset]
  if not text then
    text = string.format('%.0f', clock() + offset)
    timeTexts[offset] = text
  end
  return text
end

-- The same in the form of index keys.
local function paddedTimeAfter(offset)
  local text = paddedTexts[offset]
  if not text then
    text = string.format('%015.0f', clock() + offset)
    paddedTexts[offset] = text
  end
  return text
end
