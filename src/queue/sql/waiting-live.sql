-- A function because only its settings keep the planner to the index whatever a queue's statistics say.
select * from waiting_live_jobs($1)
