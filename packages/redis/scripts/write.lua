-- Applies steps to records, each batch all or none, and returns the outcome of each step. Batches of several callers
-- share one script; one that fails does not affect the others. On a single server, a batch may have several buckets.
--
-- KEYS  of each step: counter of revisions, expiring, record and names, and for a job also jobs and remembered places
-- ARGV  of each batch: how many steps; of each step: key, shape, request id or '', job type or '', the arguments that
--       the shape counts, member of `expiring`

local keyAt, at = 0, 0

local function readBatch()
  at = at + 1
  local steps = {}
  for index = 1, ARGV[at] do
    local step
    step, at = stepAt(at)
    at = at + 1
    step.expiryMember, step.counter, step.expiring = ARGV[at], KEYS[keyAt + 1], KEYS[keyAt + 2]
    step.record, step.names = KEYS[keyAt + 3], KEYS[keyAt + 4]
    keyAt = keyAt + 4
    if step.jobType ~= '' then
      step.jobs, step.remembered = KEYS[keyAt + 1], KEYS[keyAt + 2]
      keyAt = keyAt + 2
    end
    steps[index] = step
  end
  return steps
end

-- The form of core/kv/batch-answers.ts.
local function answerOf(outcomes)
  local parts = {}
  for index, outcome in ipairs(outcomes) do parts[index] = string.format('[%.0f,%d]', outcome[4], outcome[2]) end
  return '[' .. table.concat(parts, ',') .. ']'
end

local function carryOut(steps)
  local holds = true
  for _, step in ipairs(steps) do
    look(step)
    step.after = step.existed and step.before or nil
    step.answered = isAnswered(step)
    holds = holds and (step.answered or meets(step))
  end
  local outcomes = {}
  for index, step in ipairs(steps) do
    if holds and not step.answered then
      if step.answersBatch then step.answer = answerOf(outcomes) end
      change(step)
      if step.jobs and step.revisionNow then place(step.record, step.jobs, step.remembered, step.key, step.jobType) end
    end
    outcomes[index] = outcomeOf(step, holds)
  end
  return outcomes
end

local replies = {}
while at < #ARGV do
  replies[#replies + 1] = attempt(carryOut, readBatch())
end
return replies
