-- Runs the work of one caller. If it fails, returns the error as its answer, so that the other callers' work continues.

local function attempt(work, ...)
  local done, reply = pcall(work, ...)
  if done then return reply end
  return redis.error_reply(type(reply) == 'table' and reply.err or tostring(reply))
end
