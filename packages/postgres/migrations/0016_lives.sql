-- oldest reader: 7
-- Lives of runs: a deleted id can begin again. The head has the number of the current life; an event has it from the
-- second life on. Only a store with chain format 2 begins them, which libraries of version 0.1 refuse.
ALTER TABLE @runs ADD COLUMN life integer NOT NULL DEFAULT 1;
ALTER TABLE @run_events ADD COLUMN life integer;
