-- Checksums of fields, as `record-sums.ts` computes them. `CRC` is the table of CRC-32 for one byte (scripts.ts). Keys
-- and names of fields must be ASCII.

local bxor, rshift, byte = bit.bxor, bit.rshift, string.byte
local BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz'

-- Continues an inverted sum with a text.
local function feed(sum, text)
  local bytes = { byte(text, 1, #text) }
  for at = 1, #bytes do sum = bxor(CRC[bxor(sum, bytes[at]) % 256], rshift(sum, 8)) end
  return sum
end

local function inBase36(sum)
  local rest, digits = bit.bnot(sum) % 4294967296, ''
  repeat
    local digit = rest % 36
    digits = string.sub(BASE36, digit + 1, digit + 1) .. digits
    rest = (rest - digit) / 36
  until rest == 0
  return digits
end

-- `start` is the inverted sum of everything before the field.
local function sumOfField(start, field, value)
  return inBase36(feed(start, field .. '\0' .. value))
end
