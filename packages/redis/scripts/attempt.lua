-- Does what one caller asks for; if it fails, its answer is the error, and the others go on.

local function attempt(work, ...)
  local done, reply = pcall(work, ...)
  if done then return reply end
  return redis.error_reply(type(reply) == 'table' and reply.err or tostring(reply))
end
