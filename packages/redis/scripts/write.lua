-- Applies steps to records, each batch all or none, and returns the outcome of each step. Batches of several callers
-- share one script; one that fails does not affect the others.
--
-- KEYS  of each batch: counter of revisions, expiring; then of each step record and names, and for a job also jobs and
--       remembered places
-- ARGV  of each batch: how many steps; of each step: key, shape, request id or '', job type or '', the arguments that
--       the shape counts, member of `expiring`

local keyAt, at = 0, 0

local function readBatch()
  local counter, expiring = KEYS[keyAt + 1], KEYS[keyAt + 2]
  keyAt, at = keyAt + 2, at + 1
  local steps = {}
  for index = 1, ARGV[at] do
    local step
    step, at = stepAt(at)
    at = at + 1
    step.expiryMember, step.counter, step.expiring = ARGV[at], counter, expiring
    step.record, step.names = KEYS[keyAt + 1], KEYS[keyAt + 2]
    keyAt = keyAt + 2
    if step.jobType ~= '' then
      step.jobs, step.remembered = KEYS[keyAt + 1], KEYS[keyAt + 2]
      keyAt = keyAt + 2
    end
    steps[index] = step
  end
  return steps
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
