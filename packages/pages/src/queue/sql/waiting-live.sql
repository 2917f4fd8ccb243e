-- A function because its settings force the index, whatever the queue's statistics say.
select * from waiting_live_jobs($1)
